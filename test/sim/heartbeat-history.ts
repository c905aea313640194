/** The heartbeats of kubelets, as far as the API could show them. It judges no silence. */

/** What a kubelet renewed: its lease, or its node's status with a Ready condition. */
export type HeartbeatKind = "lease" | "status";

interface Sign {
  readonly kind: HeartbeatKind;
  readonly atMs: number;
  /** When that was by the kubelet's own clock, which stamps it, in epoch milliseconds. */
  readonly stampedAt: number;
}

/** A write may rest on a read that is a minute old, so checks need the heartbeats before it. */
const SIGNS_KEPT = 16;

const secondOf = (atMs: number): number => Math.floor(atMs / 1000);

/** The heartbeats of each node at the time of a backup. */
export type HeartbeatBackup = ReadonlyMap<string, readonly Sign[]>;

/** Heartbeats by node. All instants are on the world's wall clock. */
export class HeartbeatHistory {
  readonly #unseenMs: number;
  readonly #signs = new Map<string, readonly Sign[]>();

  /** `unseenMs` is how long a watch may miss changes without being blind. */
  constructor(unseenMs: number) {
    this.#unseenMs = unseenMs;
  }

  /**
   * Records a heartbeat of a kubelet. A second status within a second of its clock has the same stamp, so it is not a
   * heartbeat.
   */
  note(node: string, kind: HeartbeatKind, atMs: number, stampedAt = atMs): void {
    const posted = kind === "status" ? this.#of(node).findLast((sign) => sign.kind === "status") : undefined;
    if (posted !== undefined && secondOf(posted.stampedAt) === secondOf(stampedAt)) return;
    this.#signs.set(node, [...this.#of(node).slice(1 - SIGNS_KEPT), { kind, atMs, stampedAt }]);
  }

  /**
   * Records a status post without Ready. It is no heartbeat (R2.36), and it removes the last post's stamp from the API.
   * If the watch of nodes of a process was stale until now, the process can never receive that stamp.
   */
  erase(node: string, atMs: number): void {
    const isShown = (sign: Sign): boolean => sign.kind === "lease" || atMs - sign.atMs > this.#unseenMs;
    this.#signs.set(node, this.#of(node).filter(isShown));
  }

  /** Forgets a deleted node and its heartbeats. */
  forget(node: string): void {
    this.#signs.delete(node);
  }

  /** The heartbeats of now, for a backup of the API. */
  backup(): HeartbeatBackup {
    return new Map(this.#signs);
  }

  /**
   * Records the restore of a backup. It restores deleted nodes with their heartbeats. Vigil dates those by when it
   * observes them.
   */
  restored(backup: HeartbeatBackup): void {
    for (const [node, signs] of backup) if (!this.#signs.has(node)) this.#signs.set(node, signs);
  }

  /** When a node gave its last heartbeat before an instant; minus infinity when it gave none. */
  lastBy(node: string, byMs: number): number {
    return this.#of(node).findLast(({ atMs }) => atMs <= byMs)?.atMs ?? Number.NEGATIVE_INFINITY;
  }

  /** Whether a node gave a heartbeat after an instant, by the world's clock or by its own. */
  isShownAfter(node: string, instant: number): boolean {
    return this.#of(node).some(({ atMs, stampedAt }) => Math.max(atMs, stampedAt) > instant);
  }

  /** Whether a heartbeat that a node gave before an instant is dated after it, by a clock that is ahead. */
  isDatedAfter(node: string, instant: number): boolean {
    return this.#of(node).some(({ atMs, stampedAt }) => atMs <= instant && stampedAt > instant);
  }

  #of(node: string): readonly Sign[] {
    return this.#signs.get(node) ?? [];
  }
}
