/**
 * The nodes that were observed and of which no judgement was heard. It is published once, and a message may be lost: a
 * ledger that misses one has the shard resynced. Where no process judges nodes it waits for none.
 */
import { shardOf } from "../../protocols/subjects.ts";
import { type RequestRetryProfile, RetrySchedule, requestRetries } from "../platform/structures/retry-schedule.ts";

/** How long a judgement may take to follow the first sight of its node, in milliseconds. */
export const JUDGED_WITHIN_MS = 3000;

/** Nodes without a judgement. Instants are on the monotonic clock. */
export class MissingJudgements {
  /** Since when each has been known. */
  readonly #sinceMs = new Map<string, number>();
  readonly #resyncs: RetrySchedule<number>;
  #isJudging = false;

  constructor(profile: RequestRetryProfile) {
    this.#resyncs = new RetrySchedule(requestRetries(profile));
  }

  /** Takes an observed node; `isJudged` says whether a judgement of that very node was heard. */
  takeNode(node: string, isJudged: boolean, nowMs: number): void {
    if (isJudged) this.#sinceMs.delete(node);
    else if (!this.#sinceMs.has(node)) this.#sinceMs.set(node, nowMs);
  }

  /** Takes word that a node was judged. */
  judged(node: string): void {
    this.#isJudging = true;
    this.#sinceMs.delete(node);
  }

  /** Forgets a node that left. */
  forget(node: string): void {
    this.#sinceMs.delete(node);
  }

  /** Why a shard has to be resynced now; null when it need not. */
  resyncReason({ shard }: { readonly shard: number }, nowMs: number): string | null {
    if (!this.#isJudging) return null;
    for (const [node, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs < JUDGED_WITHIN_MS || shardOf(node) !== shard) continue;
      return this.#resyncs.isDue(shard, nowMs) ? "no judgement of a node was heard" : null;
    }
    this.#resyncs.forget(shard);
    return null;
  }
}
