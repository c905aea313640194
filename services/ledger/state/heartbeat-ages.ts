/** The ages of the last heartbeats of nodes. A heartbeat is one entry of a map; quantiles count all of them. */

/** The largest age that is distinguished. */
export const AGE_MAX_SECONDS = 600;

/** Nodes by the second of their last heartbeat. Times are monotonic milliseconds. */
export class HeartbeatAges {
  readonly #secondOf = new Map<string, number>();

  get size(): number {
    return this.#secondOf.size;
  }

  /** Records a heartbeat. Returns false where a heartbeat of that second or a later one is known. */
  beat(node: string, seenAtMs: number): boolean {
    const second = Math.max(0, Math.floor(seenAtMs / 1000));
    if ((this.#secondOf.get(node) ?? -1) >= second) return false;
    this.#secondOf.set(node, second);
    return true;
  }

  /** When a node's last heartbeat was seen, to the second before it; null where none is known. */
  lastMs(node: string): number | null {
    const second = this.#secondOf.get(node);
    return second === undefined ? null : second * 1000;
  }

  forget(node: string): void {
    this.#secondOf.delete(node);
  }

  keep(isKept: (node: string) => boolean): void {
    for (const node of this.#secondOf.keys()) if (!isKept(node)) this.#secondOf.delete(node);
  }

  /** The ages in seconds that these ascending fractions of the nodes do not exceed; 0 without nodes. */
  quantiles(fractions: readonly number[], nowMs: number): number[] {
    const counts = new Uint32Array(AGE_MAX_SECONDS + 1);
    const now = Math.floor(nowMs / 1000);
    for (const second of this.#secondOf.values()) {
      const age = Math.min(Math.max(0, now - second), AGE_MAX_SECONDS);
      counts[age] = (counts[age] ?? 0) + 1;
    }
    let within = counts[0] ?? 0;
    let age = 0;
    return fractions.map((fraction) => {
      const wanted = Math.ceil(fraction * this.#secondOf.size);
      while (within < wanted && age < AGE_MAX_SECONDS) within += counts[++age] ?? 0;
      return age;
    });
  }
}
