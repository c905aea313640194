/** The nodes of one zone that wait for a turn. Pure state: it knows no clock and no pace, and sends nothing. */

/** A node that waits for its turn, or whose turn was granted and has not shown its effect yet. */
export interface QueuedNode {
  readonly node: string;
  readonly uid: string;
  /** Not granted before this monotonic instant; 0 for a node that never had a turn. */
  readonly notBefore: number;
  /** How many turns it has had. */
  readonly grants: number;
  /** Id of the ask that its last turn led to; null before. */
  readonly ask: string | null;
}

/**
 * First come, first served, one entry for each node. An entry stays until the node no longer wants a turn, is gone or
 * has left the zone (L7, L8); a turn granted moves it to the end, to be granted again when nothing came of it (R7.7).
 */
export class ZoneQueue {
  /** In order of service: a Map iterates as its keys were inserted. */
  readonly #waiting = new Map<string, QueuedNode>();
  #hasResting = false;

  get size(): number {
    return this.#waiting.size;
  }

  /** Lets a node wait, if it does not already; another node of the same name takes the end of the queue. */
  add(node: string, uid: string): void {
    if (this.#waiting.get(node)?.uid === uid) return;
    this.#moveToEnd({ node, uid, notBefore: 0, grants: 0, ask: null });
  }

  /** Takes a node out; nothing happens when it is not there. */
  remove(node: string): void {
    this.#waiting.delete(node);
  }

  /** Whose turn it is now; null when it is nobody's. A delayed entry lets the others pass and costs nothing (L13). */
  head(now: number): QueuedNode | null {
    for (const waiting of this.#waiting.values()) if (waiting.notBefore <= now) return waiting;
    return null;
  }

  /** When there will be a head: now or earlier when there is one, infinite when nobody waits. */
  headAt(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { notBefore } of this.#waiting.values()) {
      if (notBefore === 0) return 0;
      earliest = Math.min(earliest, notBefore);
    }
    return earliest;
  }

  /** The first nodes, at most `max`, in the order of their turns; those that are delayed come last. */
  first(max: number, now: number): string[] {
    const waiting = [...this.#waiting.values()];
    const delayed = waiting.filter(({ notBefore }) => notBefore > now).sort((a, b) => a.notBefore - b.notBefore);
    const served = [...waiting.filter(({ notBefore }) => notBefore <= now), ...delayed];
    return served.slice(0, max).map(({ node }) => node);
  }

  /** Notes that a turn was granted and led to this ask, if to any; there may be another one at `againAt`. */
  granted(node: string, ask: string | null, againAt: number): void {
    const waiting = this.#waiting.get(node);
    if (waiting === undefined) return;
    this.#moveToEnd({ ...waiting, notBefore: againAt, grants: waiting.grants + 1, ask });
  }

  /** Lets a node rest whose turn was only rehearsed: it has no other until it wants one anew or is roused. */
  rest(node: string, ask: string): void {
    const waiting = this.#waiting.get(node);
    if (waiting?.ask !== ask) return;
    this.#waiting.set(node, { ...waiting, notBefore: Number.POSITIVE_INFINITY });
    this.#hasResting = true;
  }

  /** Lets those that rest have a turn again. Returns whether there were any. */
  endRests(): boolean {
    if (!this.#hasResting) return false;
    this.#hasResting = false;
    for (const [node, waiting] of this.#waiting) {
      if (waiting.notBefore === Number.POSITIVE_INFINITY) this.#waiting.set(node, { ...waiting, notBefore: 0 });
    }
    return true;
  }

  #moveToEnd(waiting: QueuedNode): void {
    this.#waiting.delete(waiting.node);
    this.#waiting.set(waiting.node, waiting);
  }
}
