/**
 * Observed nodes whose judgement is missing or contradicts the observation. A judgement is published once and may be
 * lost, so the ledger then requests a resync of the shard; but not in a fleet that judges no nodes. In direct mode
 * nothing observed contradicts a node that waits for its drain or is to be drained from some instant on, but its owner
 * judges it again then: if it does not, the judgement that ended the wait was lost.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Policies } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { contradicts } from "../domain/judgement.ts";
import { type RequestRetryProfile, RetrySchedule, requestRetries } from "../platform/structures/retry-schedule.ts";
import type { NodeRecord } from "./cluster-state.ts";

/** How long a judgement may follow an observation of its node, or an observation it, in milliseconds. */
const JUDGED_WITHIN_MS = 3000;

/** Nodes without a judgement that fits them. */
export class MissingJudgements {
  /** Since when each of them has none, on the monotonic clock; the earliest first. */
  readonly #unjudged = new Map<string, number>();
  readonly #resyncs: RetrySchedule<number>;
  readonly #evictionMode: Profile["evictionMode"];
  readonly #policies: Pick<Policies, "current">;
  /** By shard, until when each node that is to be drained is judged again at the latest, on the monotonic clock. */
  readonly #drains = new Map<number, Map<string, number>>();
  /** The owner of a node repeats within this time that it waits. */
  readonly #repeatedWithinMs: number;
  #isJudging = false;

  constructor(profile: RequestRetryProfile & Pick<Profile, "evictionMode">, policies: Pick<Policies, "current">) {
    this.#policies = policies;
    this.#resyncs = new RetrySchedule(requestRetries(profile));
    this.#evictionMode = profile.evictionMode;
    this.#repeatedWithinMs = profile.askRetryMaxMs + JUDGED_WITHIN_MS;
  }

  /** Takes an observed node and the judgement that is known of this uid. */
  takeNode(observed: ObservedNode, judged: NodeRecord["judged"], nowMs: number): void {
    const { node, uid } = observed;
    this.#note(node, judged === null || this.#contradicts({ ...judged, uid }, observed), nowMs);
  }

  /** Takes a judgement and the node that it is about as the ledger keeps it; null if not observed. */
  takeJudged(
    judged: BodyOf<"judged.node">,
    kept: ObservedNode | null,
    { monotonicMs, wallMs }: { readonly monotonicMs: number; readonly wallMs: number },
  ): void {
    this.#isJudging = true;
    const drainAt = drainAtOf(judged, wallMs);
    if (this.#evictionMode !== "direct" || drainAt === null) this.#forgetDrain(judged.node);
    else this.#expect(judged.node, monotonicMs + Math.max(0, drainAt - wallMs) + this.#repeatedWithinMs);
    if (kept?.uid === judged.uid) this.#note(judged.node, this.#contradicts(judged, kept), monotonicMs);
  }

  /** Compares every judgement with the policies that are in force now. */
  policiesChanged(nodes: Iterable<NodeRecord>, nowMs: number): void {
    for (const { observed, judged } of nodes) if (observed !== null) this.takeNode(observed, judged, nowMs);
  }

  /** A process of the fleet judges nodes, so a node without a judgement has one. */
  expectJudgements(): void {
    this.#isJudging = true;
  }

  forget(node: string): void {
    this.#unjudged.delete(node);
    this.#forgetDrain(node);
  }

  /** Forgets nodes that left before a late judgement of them came. */
  keep(isKept: (node: string) => boolean): void {
    const drained = [...this.#drains.values()].flatMap((ofShard) => [...ofShard.keys()]);
    for (const node of [...this.#unjudged.keys(), ...drained]) if (!isKept(node)) this.forget(node);
  }

  /** Why a shard needs a resync now; null where it does not. */
  resyncReason({ shard }: { readonly shard: number }, nowMs: number): string | null {
    if (!this.#isJudging) return null;
    if (!this.#isOverdue(shard, nowMs)) {
      this.#resyncs.forget(shard);
      return null;
    }
    return this.#resyncs.isDue(shard, nowMs) ? "a judgement is missing or contradicts its observation" : null;
  }

  /** The unjudged are in the order of their instants, so whatever follows one that is not overdue is not either. */
  #isOverdue(shard: number, nowMs: number): boolean {
    for (const [node, sinceMs] of this.#unjudged) {
      if (nowMs - sinceMs < JUDGED_WITHIN_MS) break;
      if (shardOf(node) === shard) return true;
    }
    for (const expectedMs of this.#drains.get(shard)?.values() ?? []) if (expectedMs <= nowMs) return true;
    return false;
  }

  #expect(node: string, expectedMs: number): void {
    const shard = shardOf(node);
    const ofShard = this.#drains.get(shard) ?? new Map<string, number>();
    ofShard.set(node, expectedMs);
    this.#drains.set(shard, ofShard);
  }

  #forgetDrain(node: string): void {
    const shard = shardOf(node);
    const ofShard = this.#drains.get(shard);
    ofShard?.delete(node);
    if (ofShard?.size === 0) this.#drains.delete(shard);
  }

  #contradicts(judged: Parameters<typeof contradicts>[0], observed: ObservedNode): boolean {
    return contradicts(judged, observed, { evictionMode: this.#evictionMode, policies: this.#policies.current() });
  }

  #note(node: string, isUnjudged: boolean, nowMs: number): void {
    if (!isUnjudged) this.#unjudged.delete(node);
    else if (!this.#unjudged.has(node)) this.#unjudged.set(node, nowMs);
  }
}

/** From when a node is to be drained, on the API's clock; null if it is not. */
function drainAtOf({ eviction, evictionFromAt }: BodyOf<"judged.node">, wallMs: number): number | null {
  return eviction === "toBeEvicted" ? wallMs : (evictionFromAt ?? null);
}
