/**
 * Which nodes may be admitted any moment, because some process permitted it: nodes with a valid permit, and nodes whose
 * permit was withdrawn so recently that a zone may not know it yet, or that its taint may still be under way. Pure
 * state.
 */

import { POLICY_CEILING } from "../../domain/limited-policies.ts";

/** Permits by policy, as one message carries them: the uid of each node. */
export type PermittedUids = ReadonlyMap<string, string>;

interface Received {
  readonly source: string;
  readonly uids: PermittedUids;
  readonly receivedMs: number;
}

/** The permits of all policies. Instants are on the monotonic clock. */
export class Permits {
  readonly #pulseTimeoutMs: number;
  readonly #lingerMs: number;
  readonly #latest = new Map<string, Received>();
  /** Until when a node counts as permitted, by node: to be tainted for its readiness, and for a condition. */
  readonly #untilMs = new Map<string, number>();
  readonly #conditionUntilMs = new Map<string, number>();
  /** Until when a node gets no permit because its taint could not be written, by node. */
  readonly #unwritableUntilMs = new Map<string, number>();

  /** A message counts for `pulseTimeoutMs`; the node of a permit counts as permitted for `lingerMs` after the last. */
  constructor({ pulseTimeoutMs, lingerMs }: { readonly pulseTimeoutMs: number; readonly lingerMs: number }) {
    this.#pulseTimeoutMs = pulseTimeoutMs;
    this.#lingerMs = lingerMs;
  }

  onPermits(policy: string, { source, uids, receivedMs }: Received): void {
    this.#latest.set(policy, { source, uids, receivedMs });
    const untilMs = policy === POLICY_CEILING ? this.#conditionUntilMs : this.#untilMs;
    for (const node of uids.keys()) untilMs.set(node, receivedMs + this.#lingerMs);
  }

  /** Whether the last message about a policy permits a node, and still counts. */
  allows(policy: string, node: string, uid: string, nowMs: number): boolean {
    const latest = this.#latest.get(policy);
    if (latest === undefined || nowMs - latest.receivedMs >= this.#pulseTimeoutMs) return false;
    return latest.uids.get(node) === uid;
  }

  /** The nodes that may be admitted any moment: by any permit, and for a condition. */
  outstanding(nowMs: number): { readonly all: ReadonlySet<string>; readonly forConditions: ReadonlySet<string> } {
    for (const untilMs of [this.#untilMs, this.#conditionUntilMs, this.#unwritableUntilMs]) {
      for (const [node, endMs] of untilMs) if (endMs <= nowMs) untilMs.delete(node);
    }
    const forConditions = new Set(this.#conditionUntilMs.keys());
    return { all: new Set([...this.#untilMs.keys(), ...forConditions]), forConditions };
  }

  /**
   * Records that the taint of a permitted node could not be written. Its permit counts for `lingerMs` more, and as long
   * again others can be permitted in its place.
   */
  unwritten(node: string, nowMs: number): void {
    this.#unwritableUntilMs.set(node, nowMs + 2 * this.#lingerMs);
  }

  /** Whether the taint of a node could not be written a moment ago. */
  isUnwritable(node: string, nowMs: number): boolean {
    return nowMs < (this.#unwritableUntilMs.get(node) ?? Number.NEGATIVE_INFINITY);
  }

  /** Ends what a node was permitted: it is admitted now, or gone. */
  end(node: string): void {
    this.#untilMs.delete(node);
    this.#conditionUntilMs.delete(node);
    this.#unwritableUntilMs.delete(node);
  }

  /** Drops the policies that have no limits any more. */
  keep(policies: ReadonlySet<string>): void {
    for (const policy of this.#latest.keys()) if (!policies.has(policy)) this.#latest.delete(policy);
  }
}
