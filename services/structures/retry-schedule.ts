/** When a failed attempt, or a request without effect so far, is retried: with exponential backoff up to a limit. */
import type { Random } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";

/** How the pauses grow, in milliseconds. */
export interface RetrySettings {
  readonly baseMs: number;
  readonly maxMs: number;
  /** How many pauses are as long as the first before they double; one by default. */
  readonly equalPauses?: number;
  /** Adds full jitter: each pause is a random part of its length. Without it pauses are exact. */
  readonly random?: Random;
}

/**
 * The retries of a change that the API does not show yet. The first two pauses are equal: if the owner has just died,
 * its successor is there by the third request. With the defaults of 2 s and 60 s the requests go out at 0, 2, 4, 8, 16,
 * 32, 64 and 124 s.
 */
export function requestRetries({ askRetryMs, askRetryMaxMs }: RequestRetryProfile): RetrySettings {
  return { baseMs: askRetryMs, maxMs: askRetryMaxMs, equalPauses: 2 };
}

/** The settings of request retries. */
export type RequestRetryProfile = Pick<Profile, "askRetryMs" | "askRetryMaxMs">;

/** The pause after so many attempts (at least one), in milliseconds. */
export function retryPauseMs(tries: number, { baseMs, maxMs, equalPauses = 1, random }: RetrySettings): number {
  const pauseMs = Math.min(maxMs, baseMs * 2 ** Math.max(0, tries - equalPauses));
  return random === undefined ? pauseMs : random() * pauseMs;
}

/** The attempts of many things, by key. Instants are on one monotonic clock. */
export class RetrySchedule<K> {
  readonly #settings: RetrySettings;
  readonly #retries = new Map<K, { tries: number; dueMs: number }>();

  constructor(settings: RetrySettings) {
    this.#settings = settings;
  }

  /** Whether an attempt is due, and counts it if it is. The first is due at once. */
  isDue(key: K, nowMs: number): boolean {
    const retry = this.#retries.get(key) ?? { tries: 0, dueMs: nowMs };
    if (nowMs < retry.dueMs) return false;
    retry.tries += 1;
    retry.dueMs = nowMs + retryPauseMs(retry.tries, this.#settings);
    this.#retries.set(key, retry);
    return true;
  }

  /** Restarts the backoff from an attempt made now; the next one does not move later. */
  hurry(key: K, nowMs: number): void {
    const dueMs = nowMs + retryPauseMs(1, this.#settings);
    this.#retries.set(key, { tries: 1, dueMs: Math.min(dueMs, this.#retries.get(key)?.dueMs ?? dueMs) });
  }

  /** Brings the next attempt forward to an instant; one that is due earlier stays. */
  bringForward(key: K, dueMs: number): void {
    const retry = this.#retries.get(key);
    if (retry !== undefined) retry.dueMs = Math.min(retry.dueMs, dueMs);
  }

  /** When the earliest attempt is due; null when there is none. */
  nextDueMs(): number | null {
    let next: number | null = null;
    for (const { dueMs } of this.#retries.values()) next = next === null ? dueMs : Math.min(next, dueMs);
    return next;
  }

  /**
   * Drops a key that succeeded, once its pause is over: where another client undoes each attempt, the next one waits.
   */
  settle(key: K, nowMs: number): void {
    if (nowMs >= (this.#retries.get(key)?.dueMs ?? nowMs)) this.#retries.delete(key);
  }

  /** Drops a key that succeeded or is no longer desired. */
  forget(key: K): void {
    this.#retries.delete(key);
  }

  /** Drops all keys but the desired ones. */
  keep(isWanted: (key: K) => boolean): void {
    for (const key of this.#retries.keys()) if (!isWanted(key)) this.#retries.delete(key);
  }
}
