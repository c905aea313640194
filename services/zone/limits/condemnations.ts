/**
 * When each node of one policy was condemned last, for as long as its breaker's window and the pace after a storm need
 * it. A node that was healed, or has left, stays until then: the breaker counts what was done. Pure state.
 */

/** One node, condemned at an instant on the monotonic clock. */
export interface Condemnation {
  readonly node: string;
  /** Null while it is not known, as of a node that left before this process could see it. */
  readonly zone: string | null;
  readonly atMs: number;
}

/** The condemnations of one policy, a node once. */
export class Condemnations {
  readonly #byNode = new Map<string, Condemnation>();

  /** How many nodes are remembered. */
  get size(): number {
    return this.#byNode.size;
  }

  /** Adds one; of two for the same node the later one counts, in the zone that is known of either. */
  add(condemnation: Condemnation): void {
    const { node } = condemnation;
    const known = this.#byNode.get(node) ?? condemnation;
    const [earlier, later] = known.atMs >= condemnation.atMs ? [condemnation, known] : [known, condemnation];
    this.#byNode.set(node, { ...later, zone: later.zone ?? earlier.zone });
  }

  /** Whether a node is remembered. */
  has(node: string): boolean {
    return this.#byNode.has(node);
  }

  /** Whether a node was condemned after an instant. */
  isAfter(node: string, fromMs: number): boolean {
    return (this.#byNode.get(node)?.atMs ?? Number.NEGATIVE_INFINITY) > fromMs;
  }

  /** How many nodes were condemned after an instant, and when the earliest of them was. */
  since(fromMs: number): { readonly nodes: number; readonly earliestMs: number | null } {
    let nodes = 0;
    let earliestMs: number | null = null;
    for (const { atMs } of this.#byNode.values()) {
      if (atMs <= fromMs) continue;
      nodes += 1;
      earliestMs = Math.min(earliestMs ?? atMs, atMs);
    }
    return { nodes, earliestMs };
  }

  /** When a node of a zone was condemned last, or one whose zone is not known; null for never. */
  lastIn(zone: string): number | null {
    let lastMs: number | null = null;
    for (const each of this.#byNode.values()) {
      if (each.zone === zone || each.zone === null) lastMs = Math.max(lastMs ?? each.atMs, each.atMs);
    }
    return lastMs;
  }

  /** The latest `max` of them. */
  latest(max: number): readonly Condemnation[] {
    return [...this.#byNode.values()].sort((left, right) => right.atMs - left.atMs).slice(0, max);
  }

  /** Drops those until an instant. */
  forgetUntil(atMs: number): void {
    for (const [node, each] of this.#byNode) if (each.atMs <= atMs) this.#byNode.delete(node);
  }
}
