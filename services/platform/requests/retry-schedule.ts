/** When a wish that has not come true may be told again: after pauses that grow. It sends nothing. */
import type { Profile } from "../../../protocols/profile.ts";

/** The pauses between tellings. */
export type RepetitionSettings = Pick<Profile, "askRetryMs" | "askRetryMaxMs">;

/**
 * The pause after a wish was told `times` times (at least once), in milliseconds. The first two are equal, the others
 * double: who was to fulfil it may just have died, and has a successor by the third telling.
 */
export function pauseMs(times: number, { askRetryMs, askRetryMaxMs }: RepetitionSettings): number {
  return Math.min(askRetryMaxMs, askRetryMs * 2 ** Math.max(0, times - 2));
}

/** Counts the tellings of many wishes by key. */
export class Repetition<K> {
  readonly #settings: RepetitionSettings;
  readonly #told = new Map<K, { times: number; againAt: number }>();

  constructor(settings: RepetitionSettings) {
    this.#settings = settings;
  }

  /** Whether the wish is to be told now; a yes counts as a telling. */
  isDue(key: K, now: number): boolean {
    const told = this.#told.get(key) ?? { times: 0, againAt: now };
    if (now < told.againAt) return false;
    told.times += 1;
    told.againAt = now + pauseMs(told.times, this.#settings);
    this.#told.set(key, told);
    return true;
  }

  /** Forgets a wish, which came true or no longer stands. */
  forget(key: K): void {
    this.#told.delete(key);
  }

  /** Forgets the wishes that no longer stand. */
  keep(stands: (key: K) => boolean): void {
    for (const key of this.#told.keys()) if (!stands(key)) this.#told.delete(key);
  }
}
