/** The nodes of one zone that wait for a grant. Pure state: it knows no clock and no rate, and sends nothing. */

/** A node that waits for a grant, or whose grant has not shown its effect yet. */
export interface QueuedNode {
  readonly node: string;
  readonly uid: string;
  /** Not granted before this monotonic instant; 0 for a node that was never granted. */
  readonly notBefore: number;
  readonly grants: number;
  /** Id of the request that the last grant led to; null before. */
  readonly requestId: string | null;
}

/** Whether a node waits for nothing but its place in the queue. */
export type MayGrant = (node: string) => boolean;

const anyNode: MayGrant = () => true;

/**
 * First come, first served, with one entry for each node. An entry stays until the node needs no grant, is gone or has
 * left the zone (L7, L8). A grant moves it to the end, to be granted again if it has no effect (R7.7).
 */
export class ZoneQueue {
  /** In order of service: a Map iterates as its keys were inserted. */
  readonly #waiting = new Map<string, QueuedNode>();

  get size(): number {
    return this.#waiting.size;
  }

  /** Adds a node unless it waits already. A node of the same name with another uid goes to the end. */
  add(node: string, uid: string): void {
    if (this.#waiting.get(node)?.uid === uid) return;
    this.#moveToEnd({ node, uid, notBefore: 0, grants: 0, requestId: null });
  }

  remove(node: string): void {
    this.#waiting.delete(node);
  }

  /**
   * The node to grant now; null for none. Nodes overtake a delayed and a blocked one, and that costs no token (L13).
   */
  head(now: number, mayGrant: MayGrant = anyNode): QueuedNode | null {
    for (const waiting of this.#waiting.values()) {
      if (waiting.notBefore <= now && mayGrant(waiting.node)) return waiting;
    }
    return null;
  }

  /** When there will be a head: at or before now if there is one, infinite without a node that may be granted. */
  headAt(mayGrant: MayGrant = anyNode): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { node, notBefore } of this.#waiting.values()) {
      if (notBefore >= earliest || !mayGrant(node)) continue;
      if (notBefore === 0) return 0;
      earliest = Math.min(earliest, notBefore);
    }
    return earliest;
  }

  /** The first `max` nodes in the order of service; delayed ones come last. */
  first(max: number, now: number): string[] {
    const nodes: string[] = [];
    const delayed: QueuedNode[] = [];
    for (const waiting of this.#waiting.values()) {
      if (nodes.length === max) return nodes;
      if (waiting.notBefore > now) delayed.push(waiting);
      else nodes.push(waiting.node);
    }
    delayed.sort((left, right) => left.notBefore - right.notBefore);
    return [...nodes, ...delayed.slice(0, max - nodes.length).map(({ node }) => node)];
  }

  /** Records a grant and the request it led to, null for none. The node may be granted again at `againAt`. */
  granted(node: string, requestId: string | null, againAt: number): void {
    const waiting = this.#waiting.get(node);
    if (waiting === undefined) return;
    this.#moveToEnd({ ...waiting, notBefore: againAt, grants: waiting.grants + 1, requestId });
  }

  #moveToEnd(waiting: QueuedNode): void {
    this.#waiting.delete(waiting.node);
    this.#waiting.set(waiting.node, waiting);
  }
}
