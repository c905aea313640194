/**
 * The ages of all nodes' last heartbeats, as counts per second of age. A heartbeat moves one count, and quantiles cost
 * the same for ten nodes and for a hundred thousand.
 */

/** The largest age that is distinguished. */
export const AGE_MAX_SECONDS = 600;

/** Counts of nodes by the second of their last heartbeat. Times are monotonic milliseconds. */
export class HeartbeatAges {
  readonly #secondOf = new Map<string, number>();
  readonly #counts = new Uint32Array(AGE_MAX_SECONDS);
  #newest = 0;
  #ancient = 0;

  get size(): number {
    return this.#secondOf.size;
  }

  /** Takes a heartbeat. Returns false where a heartbeat of that second or a later one is known. */
  beat(node: string, seenAtMs: number): boolean {
    const second = Math.max(0, Math.floor(seenAtMs / 1000));
    const last = this.#secondOf.get(node);
    if (last !== undefined && last >= second) return false;
    this.#moveTo(second);
    if (last !== undefined) this.#count(last, -1);
    this.#secondOf.set(node, second);
    this.#count(second, 1);
    return true;
  }

  /** When a node's last heartbeat was seen, to the second before it; null where none is known. */
  lastMs(node: string): number | null {
    const second = this.#secondOf.get(node);
    return second === undefined ? null : second * 1000;
  }

  forget(node: string): void {
    const second = this.#secondOf.get(node);
    if (second === undefined) return;
    this.#count(second, -1);
    this.#secondOf.delete(node);
  }

  keep(isKept: (node: string) => boolean): void {
    for (const node of this.#secondOf.keys()) if (!isKept(node)) this.forget(node);
  }

  /** The ages in seconds that these ascending fractions of the nodes do not exceed; 0 without nodes. */
  quantiles(fractions: readonly number[], nowMs: number): number[] {
    this.#moveTo(Math.floor(nowMs / 1000));
    const ages: number[] = [];
    let within = 0;
    let age = -1;
    for (const fraction of fractions) {
      const wanted = Math.ceil(fraction * this.#secondOf.size);
      while (within < wanted && age < AGE_MAX_SECONDS) {
        age++;
        within += age < AGE_MAX_SECONDS ? this.#countAt(this.#newest - age) : this.#ancient;
      }
      ages.push(Math.max(0, age));
    }
    return ages;
  }

  /** Advances the newest second; counts that leave the ring become ancient. */
  #moveTo(second: number): void {
    const steps = Math.min(second - this.#newest, AGE_MAX_SECONDS);
    for (let step = 1; step <= steps; step++) {
      const slot = (second - steps + step) % AGE_MAX_SECONDS;
      this.#ancient += this.#counts[slot] ?? 0;
      this.#counts[slot] = 0;
    }
    if (second > this.#newest) this.#newest = second;
  }

  #countAt(second: number): number {
    return second < 0 ? 0 : (this.#counts[second % AGE_MAX_SECONDS] ?? 0);
  }

  #count(second: number, by: 1 | -1): void {
    if (second <= this.#newest - AGE_MAX_SECONDS) this.#ancient += by;
    else this.#counts[second % AGE_MAX_SECONDS] = this.#countAt(second) + by;
  }
}
