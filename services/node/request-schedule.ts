/**
 * Which of one node's desired changes are due to be requested. Each is requested again with exponential backoff until
 * the API shows it. The schedule sends nothing.
 */
import type { ObservedPod } from "../../protocols/objects.ts";
import { type RequestRetryProfile, RetrySchedule, requestRetries } from "../structures/retry-schedule.ts";

/** What a node requests, by the noun of the message. It requests a grant by publishing its judgement. */
export type RequestNoun = "condition" | "taint" | "label" | "unready" | "eviction" | "grant";

/** The open requests of one node. Instants are on the monotonic clock. */
export class RequestSchedule {
  readonly #schedule: RetrySchedule<RequestNoun>;
  /** The end state requested. Pods are tracked one by one instead. */
  readonly #endStates = new Map<RequestNoun, string>();
  readonly #pods = new Map<RequestNoun, ReadonlySet<string>>();
  /** When the eviction of each pod was requested first. */
  readonly #firstMs = new Map<string, number>();

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
    const before = this.#pods.get(noun) ?? new Set<string>();
    const due = isRetry ? desired : desired.filter(({ uid }) => !before.has(uid));
    if (due.length > 0) this.#pods.set(noun, new Set([...(isRetry ? [] : before), ...due.map(({ uid }) => uid)]));
    // A new pod does not wait out the long pause of the pods before it.
    if (due.length > 0 && !isRetry) this.#schedule.hurry(noun, nowMs);
    return due;
  }

  /** When the eviction of a pod was requested first: now, unless it was before. */
  firstEvictionMs(uid: string, nowMs: number): number {
    const firstMs = this.#firstMs.get(uid) ?? nowMs;
    this.#firstMs.set(uid, firstMs);
    return firstMs;
  }

  /** Forgets the first evictions of all pods but these. */
  keepFirstEvictions(pods: readonly ObservedPod[]): void {
    if (this.#firstMs.size === 0) return;
    const kept = new Set(pods.map(({ uid }) => uid));
    for (const uid of this.#firstMs.keys()) if (!kept.has(uid)) this.#firstMs.delete(uid);
  }

  /** Brings the next request of a kind forward to an instant; one that is due earlier stays. */
  bringForward(noun: RequestNoun, dueMs: number): void {
    this.#schedule.bringForward(noun, dueMs);
  }

  /** When the next retry is due; null without open requests. */
  nextDueMs(): number | null {
    return this.#schedule.nextDueMs();
  }

  /** Whether it knows nothing that a later request needs. */
  isEmpty(): boolean {
    return this.nextDueMs() === null && this.#firstMs.size === 0;
  }

  #forget(noun: RequestNoun): void {
    this.#schedule.forget(noun);
    this.#endStates.delete(noun);
    this.#pods.delete(noun);
  }
}
