/**
 * Which of one node's wishes are due to be asked, so that each is repeated until it is seen fulfilled, ever more
 * seldom. It sends nothing.
 */
import type { ObservedPod } from "../../protocols/objects.ts";
import { pauseMs, type RepetitionSettings } from "../platform/requests/retry-schedule.ts";

/** What a node may ask for, by the noun of the ask; its turn it asks for by its judgement. */
export type AskNoun = "condition" | "taint" | "label" | "unready" | "eviction" | "turn";

interface Pending {
  /** The end state asked for; pods are told apart one by one instead. */
  endState: string;
  readonly uids: Set<string>;
  dueMs: number;
  /** How often it was told since it was last in a hurry. */
  times: number;
}

/** The asks of one node that are under way. Instants are on the monotonic clock. */
export class AskBook {
  readonly #profile: RepetitionSettings;
  readonly #pending = new Map<AskNoun, Pending>();

  constructor(profile: RepetitionSettings) {
    this.#profile = profile;
  }

  /**
   * Whether to ask for this end state now; null means that nothing is wanted any more. A new end state is due at once.
   */
  isDue(noun: AskNoun, endState: string | null, nowMs: number): boolean {
    if (endState === null) {
      this.#pending.delete(noun);
      return false;
    }
    const pending = this.#pending.get(noun);
    if (pending !== undefined && pending.endState === endState) return this.#repeats(pending, nowMs);
    this.#begin(noun, endState, nowMs);
    return true;
  }

  /** Those of the pods wanted that are to be asked for now: new ones at once, all of them when the pause is over. */
  podsDue(noun: AskNoun, wanted: readonly ObservedPod[], nowMs: number): readonly ObservedPod[] {
    if (wanted.length === 0) {
      this.#pending.delete(noun);
      return wanted;
    }
    const pending = this.#pending.get(noun) ?? this.#begin(noun, "", nowMs);
    const isRepeated = this.#repeats(pending, nowMs);
    if (isRepeated) pending.uids.clear();
    const due = wanted.filter(({ uid }) => !pending.uids.has(uid));
    for (const { uid } of due) pending.uids.add(uid);
    if (due.length > 0 && !isRepeated) this.#hurry(pending, nowMs);
    return due;
  }

  /** Puts the next ask of a kind off by the longest pause, because it would come to nothing. */
  postpone(noun: AskNoun, nowMs: number): void {
    const pending = this.#pending.get(noun);
    if (pending === undefined) return;
    pending.times = Number.POSITIVE_INFINITY;
    pending.dueMs = nowMs + pauseMs(pending.times, this.#profile);
  }

  /** When the next repetition is due; null when nothing is under way. */
  nextDueMs(): number | null {
    let next: number | null = null;
    for (const { dueMs } of this.#pending.values()) next = next === null ? dueMs : Math.min(next, dueMs);
    return next;
  }

  #begin(noun: AskNoun, endState: string, nowMs: number): Pending {
    const dueMs = nowMs + pauseMs(1, this.#profile);
    const pending = { endState, uids: new Set<string>(), dueMs, times: 1 };
    this.#pending.set(noun, pending);
    return pending;
  }

  #repeats(pending: Pending, nowMs: number): boolean {
    if (nowMs < pending.dueMs) return false;
    pending.times += 1;
    pending.dueMs = nowMs + pauseMs(pending.times, this.#profile);
    return true;
  }

  /** Pods that came later are not to wait out the long pause of those before them. */
  #hurry(pending: Pending, nowMs: number): void {
    pending.times = 1;
    pending.dueMs = Math.min(pending.dueMs, nowMs + pauseMs(1, this.#profile));
  }
}
