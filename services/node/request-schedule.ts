/**
 * Which of one node's wishes are due to be asked, so that each is repeated until it is seen fulfilled, ever more
 * seldom. It sends nothing.
 */
import type { ObservedPod } from "../../protocols/objects.ts";
import { type RequestRetryProfile, RetrySchedule, requestRetries } from "../platform/structures/retry-schedule.ts";

/** What a node may ask for, by the noun of the ask; its turn it asks for by its judgement. */
export type RequestNoun = "condition" | "taint" | "label" | "unready" | "eviction" | "grant";

/** The asks of one node that are under way. Instants are on the monotonic clock. */
export class RequestSchedule {
  readonly #schedule: RetrySchedule<RequestNoun>;
  /** The end state asked for; pods are told apart one by one instead. */
  readonly #endStates = new Map<RequestNoun, string>();
  readonly #pods = new Map<RequestNoun, Set<string>>();

  constructor(profile: RequestRetryProfile) {
    this.#schedule = new RetrySchedule(requestRetries(profile));
  }

  /**
   * Whether to ask for this end state now; null means that nothing is wanted any more. A new end state is due at once.
   */
  isDue(noun: RequestNoun, endState: string | null, nowMs: number): boolean {
    if (endState !== this.#endStates.get(noun)) this.#forget(noun);
    if (endState === null) return false;
    this.#endStates.set(noun, endState);
    return this.#schedule.isDue(noun, nowMs);
  }

  /** Those of the pods wanted that are to be asked for now: new ones at once, all of them when the pause is over. */
  podsDue(noun: RequestNoun, wanted: readonly ObservedPod[], nowMs: number): readonly ObservedPod[] {
    if (wanted.length === 0) {
      this.#forget(noun);
      return wanted;
    }
    const isRepeated = this.#schedule.isDue(noun, nowMs);
    const asked = (isRepeated ? null : this.#pods.get(noun)) ?? new Set();
    const due = wanted.filter(({ uid }) => !asked.has(uid));
    for (const { uid } of due) asked.add(uid);
    this.#pods.set(noun, asked);
    // Pods that came later are not to wait out the long pause of those before them.
    if (due.length > 0 && !isRepeated) this.#schedule.hurry(noun, nowMs);
    return due;
  }

  /** Puts the next ask of a kind off by the longest pause, because it would come to nothing. */
  postpone(noun: RequestNoun, nowMs: number): void {
    this.#schedule.postpone(noun, nowMs);
  }

  /** When the next repetition is due; null when nothing is under way. */
  nextDueMs(): number | null {
    return this.#schedule.nextDueMs();
  }

  #forget(noun: RequestNoun): void {
    this.#schedule.forget(noun);
    this.#endStates.delete(noun);
    this.#pods.delete(noun);
  }
}
