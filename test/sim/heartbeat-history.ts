/** The signs of life that kubelets gave, as far as anybody could know of them by the API. It judges no silence. */

/** What a kubelet renewed: its lease, or the status of its node with a Ready condition. */
export type HeartbeatKind = "lease" | "status";

interface Sign {
  readonly kind: HeartbeatKind;
  readonly atMs: number;
}

/** A write may rest on a read that is a minute old; checks need to know of the signs before it. */
const SIGNS_KEPT = 16;

/** Signs of life by node; all instants are on the world's wall clock. */
export class HeartbeatHistory {
  readonly #unseenMs: number;
  readonly #signs = new Map<string, readonly Sign[]>();

  /** `unseenMs` is for how long a watch may miss what changes without being blind. */
  constructor(unseenMs: number) {
    this.#unseenMs = unseenMs;
  }

  /** A kubelet gave a sign. */
  note(node: string, kind: HeartbeatKind, atMs: number): void {
    this.#signs.set(node, [...this.#of(node).slice(1 - SIGNS_KEPT), { kind, atMs }]);
  }

  /**
   * A kubelet posted a status without Ready, which is no sign (R2.36) and takes the last post's stamp out of the API:
   * whoever had not seen that by now, because its watch of nodes was stale, never will.
   */
  erase(node: string, atMs: number): void {
    const isShown = (sign: Sign): boolean => sign.kind === "lease" || atMs - sign.atMs > this.#unseenMs;
    this.#signs.set(node, this.#of(node).filter(isShown));
  }

  /** The node is gone, and its signs with it. */
  forget(node: string): void {
    this.#signs.delete(node);
  }

  /** When a node gave its last sign by an instant; infinitely long ago when it gave none. */
  lastBy(node: string, byMs: number): number {
    return this.#of(node).findLast(({ atMs }) => atMs <= byMs)?.atMs ?? Number.NEGATIVE_INFINITY;
  }

  #of(node: string): readonly Sign[] {
    return this.#signs.get(node) ?? [];
  }
}
