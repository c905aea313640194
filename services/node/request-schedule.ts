/**
 * Which of one node's desired changes are due to be requested. Each is requested again with exponential backoff until
 * the API shows it. The schedule sends nothing.
 */
import type { ObservedPod } from "../../protocols/objects.ts";
import { type RequestRetryProfile, RetrySchedule, requestRetries } from "../platform/structures/retry-schedule.ts";

/** What a node requests, by the noun of the message. It requests a grant by publishing its judgement. */
export type RequestNoun = "condition" | "taint" | "label" | "unready" | "eviction" | "grant";

/** The open requests of one node. Instants are on the monotonic clock. */
export class RequestSchedule {
  readonly #schedule: RetrySchedule<RequestNoun>;
  /** The end state requested. Pods are tracked one by one instead. */
  readonly #endStates = new Map<RequestNoun, string>();
  /** When each pod was requested first. */
  readonly #pods = new Map<RequestNoun, Map<string, number>>();

  constructor(profile: RequestRetryProfile) {
    this.#schedule = new RetrySchedule(requestRetries(profile));
  }

  /** Whether to request this end state now: a new one at once, none for null. */
  isDue(noun: RequestNoun, endState: string | null, nowMs: number): boolean {
    if (endState !== this.#endStates.get(noun)) this.#forget(noun);
    if (endState === null) return false;
    this.#endStates.set(noun, endState);
    return this.#schedule.isDue(noun, nowMs);
  }

  /** The pods to request a change for now: new ones at once, all desired ones when the pause is over. */
  podsDue(noun: RequestNoun, desired: readonly ObservedPod[], nowMs: number): readonly ObservedPod[] {
    if (desired.length === 0) {
      this.#forget(noun);
      return desired;
    }
    const isRetry = this.#schedule.isDue(noun, nowMs);
    const before = this.#pods.get(noun) ?? new Map<string, number>();
    const due = isRetry ? desired : desired.filter(({ uid }) => !before.has(uid));
    const requested = isRetry ? new Map<string, number>() : before;
    for (const { uid } of due) requested.set(uid, before.get(uid) ?? nowMs);
    this.#pods.set(noun, requested);
    // A new pod does not wait out the long pause of the pods before it.
    if (due.length > 0 && !isRetry) this.#schedule.hurry(noun, nowMs);
    return due;
  }

  /** When a pod of the last request was requested first; null for any other. */
  firstMs(noun: RequestNoun, uid: string): number | null {
    return this.#pods.get(noun)?.get(uid) ?? null;
  }

  /** Delays the next request of a kind by the longest pause, because it would have no effect. */
  postpone(noun: RequestNoun, nowMs: number): void {
    this.#schedule.postpone(noun, nowMs);
  }

  /** When the next retry is due; null without open requests. */
  nextDueMs(): number | null {
    return this.#schedule.nextDueMs();
  }

  #forget(noun: RequestNoun): void {
    this.#schedule.forget(noun);
    this.#endStates.delete(noun);
    this.#pods.delete(noun);
  }
}
