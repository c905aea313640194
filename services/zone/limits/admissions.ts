/**
 * When each node of one policy was admitted last, for as long as its breaker's window and the rate after a storm need
 * it. A node that was healed, or has left, stays until then: the breaker counts what was done. A process that starts
 * receives the names of the latest ones only, and counts of the others. An observed taint shows when its node was
 * admitted, and turns one of these counts into a name. Pure state.
 */
import { boundedSpans, type CountedSpan, countOf } from "../../structures/counted-spans.ts";

/** One node, admitted for eviction at an instant on the monotonic clock. */
export interface Admission {
  readonly node: string;
  /** Null while it is not known, for example of a node that left before this process could see it. */
  readonly zone: string | null;
  readonly atMs: number;
}

/** How many of a policy's admissions may be handed on with names, and in how many spans the others are counted. */
export interface AdmissionBounds {
  readonly condemnationsMax: number;
  readonly condemnationSpansMax: number;
}

/** What is handed on of a policy's admissions. */
export interface HandedOnAdmissions {
  /** The latest ones, the latest first. */
  readonly named: readonly Admission[];
  /** All others, which were earlier. */
  readonly earlier: readonly CountedSpan[];
}

/** How long after the stamp of a taint the last owner may have seen it, in milliseconds. */
const SEEN_AFTER_MS = 5_000;
/** How long before it: a stamp is in whole seconds, rounded up. */
const SEEN_BEFORE_MS = 1_000;

/** The admissions of one policy, a node once. */
export class Admissions {
  readonly #byNode = new Map<string, Admission>();
  /** The admissions that were handed on without names, on the monotonic clock, the earliest first. */
  #unnamed: readonly CountedSpan[] = [];
  /** A node that was admitted between these instants may be one of them. */
  #unnamedMs: { readonly from: number; readonly to: number } | null = null;

  /** How many nodes are remembered. */
  get size(): number {
    return this.#byNode.size + countOf(this.#unnamed);
  }

  /** Adds one. If a node has two, the later one counts, in the zone that is known of either. */
  add(admission: Admission): void {
    const { node } = admission;
    const known = this.#byNode.get(node) ?? admission;
    if (!this.#byNode.has(node)) this.#name(admission.atMs);
    const [earlier, later] = known.atMs >= admission.atMs ? [admission, known] : [known, admission];
    this.#byNode.set(node, { ...later, zone: later.zone ?? earlier.zone });
  }

  /**
   * Adds what another process handed on. This process has counted nothing of the policy before. Nodes that are known
   * already and not named in it are among those without names.
   */
  inherit({ named, earlier }: HandedOnAdmissions): void {
    const isNamed = new Set(named.map(({ node }) => node));
    const known = [...this.#byNode.values()].filter(({ node }) => !isNamed.has(node));
    for (const admission of named) this.add(admission);
    this.#unnamed = earlier;
    const [first, last] = [earlier[0], earlier.at(-1)];
    if (first === undefined || last === undefined) return;
    // Later ones have names. Without any, a taint written just before a restart must not pass for an earlier one.
    const toMs = last.toAt + (named.length === 0 ? 0 : SEEN_BEFORE_MS);
    this.#unnamedMs = { from: Math.min(...earlier.map(({ fromAt }) => fromAt)) - SEEN_AFTER_MS, to: toMs };
    for (const { atMs } of known) this.#name(atMs);
  }

  /** Counts one less without a name if a node that was admitted at this instant is one of them. */
  #name(atMs: number): void {
    if (this.#unnamedMs === null || atMs < this.#unnamedMs.from || atMs > this.#unnamedMs.to) return;
    const at = this.#unnamed.findIndex(({ toAt }) => toAt >= atMs);
    const index = at < 0 ? this.#unnamed.length - 1 : at;
    this.#unnamed = this.#unnamed
      .map((span, each) => (each === index ? { ...span, count: span.count - 1 } : span))
      .filter(({ count }) => count > 0);
  }

  has(node: string): boolean {
    return this.#byNode.has(node);
  }

  /** Whether a node was admitted after an instant. */
  isAfter(node: string, fromMs: number): boolean {
    return (this.#byNode.get(node)?.atMs ?? Number.NEGATIVE_INFINITY) > fromMs;
  }

  /** How many nodes were admitted after an instant, and when the earliest of them was. */
  since(fromMs: number): { readonly nodes: number; readonly earliestMs: number | null } {
    let nodes = 0;
    let earliestMs: number | null = null;
    for (const { atMs } of this.#byNode.values()) {
      if (atMs <= fromMs) continue;
      nodes += 1;
      earliestMs = Math.min(earliestMs ?? atMs, atMs);
    }
    for (const { toAt, count } of this.#unnamed) {
      if (toAt <= fromMs) continue;
      nodes += count;
      earliestMs = Math.min(earliestMs ?? toAt, toAt);
    }
    return { nodes, earliestMs };
  }

  /** When a node of a zone was admitted last, or one whose zone is not known; null for never. */
  lastIn(zone: string): number | null {
    let lastMs = this.#unnamed.at(-1)?.toAt ?? null;
    for (const each of this.#byNode.values()) {
      if (each.zone === zone || each.zone === null) lastMs = Math.max(lastMs ?? each.atMs, each.atMs);
    }
    return lastMs;
  }

  /** What the next owner needs to count as many. */
  handedOn({ condemnationsMax, condemnationSpansMax }: AdmissionBounds): HandedOnAdmissions {
    const latestFirst = [...this.#byNode.values()].sort((left, right) => right.atMs - left.atMs);
    const others = latestFirst.slice(condemnationsMax).map(({ atMs }) => ({ fromAt: atMs, toAt: atMs, count: 1 }));
    return {
      named: latestFirst.slice(0, condemnationsMax),
      earlier: boundedSpans([...this.#unnamed, ...others], condemnationSpansMax),
    };
  }

  /** Drops those until an instant. */
  forgetUntil(atMs: number): void {
    for (const [node, each] of this.#byNode) if (each.atMs <= atMs) this.#byNode.delete(node);
    if (this.#unnamed.some(({ toAt }) => toAt <= atMs)) {
      this.#unnamed = this.#unnamed.filter(({ toAt }) => toAt > atMs);
    }
  }
}
