/**
 * Observed nodes without a received judgement. A judgement is published once and may be lost, so the ledger then
 * requests a resync of the shard; but not in a fleet that judges no nodes.
 */
import { shardOf } from "../../protocols/subjects.ts";
import { type RequestRetryProfile, RetrySchedule, requestRetries } from "../platform/structures/retry-schedule.ts";

/** How long a judgement may follow the first observation of its node, in milliseconds. */
export const JUDGED_WITHIN_MS = 3000;

/** Nodes without a judgement. Times are on the monotonic clock. */
export class MissingJudgements {
  /** When each was first observed. */
  readonly #sinceMs = new Map<string, number>();
  readonly #resyncs: RetrySchedule<number>;
  #isJudging = false;

  constructor(profile: RequestRetryProfile) {
    this.#resyncs = new RetrySchedule(requestRetries(profile));
  }

  /** Takes an observed node; `isJudged` is about a node with its uid. */
  takeNode(node: string, isJudged: boolean, nowMs: number): void {
    if (isJudged) this.#sinceMs.delete(node);
    else if (!this.#sinceMs.has(node)) this.#sinceMs.set(node, nowMs);
  }

  judged(node: string): void {
    this.#isJudging = true;
    this.#sinceMs.delete(node);
  }

  forget(node: string): void {
    this.#sinceMs.delete(node);
  }

  /** Why a shard needs a resync now; null where it does not. */
  resyncReason({ shard }: { readonly shard: number }, nowMs: number): string | null {
    if (!this.#isJudging) return null;
    for (const [node, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs < JUDGED_WITHIN_MS || shardOf(node) !== shard) continue;
      return this.#resyncs.isDue(shard, nowMs) ? "no judgement of a node was received" : null;
    }
    this.#resyncs.forget(shard);
    return null;
  }
}
