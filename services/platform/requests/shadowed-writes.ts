/** Remembers what shadow mode only rehearsed, so that what is asked for again is told once. It tells nobody. */
import type { Profile } from "../../../protocols/profile.ts";
import { BoundedMap } from "../structures/bounded-map.ts";

/** Wishes remembered at once; beyond it the one longest unasked is forgotten, and told again. */
const REHEARSED_MAX = 100_000;

interface Rehearsed {
  readonly what: string;
  readonly askedMs: number;
}

/** Writes that were rehearsed, by who wants them of which object. */
export class Rehearsals {
  readonly #told = new BoundedMap<string, Rehearsed>(REHEARSED_MAX);
  /** Whoever still wants something asks for it again within this time. */
  readonly #standsForMs: number;

  constructor({ askRetryMaxMs }: Pick<Profile, "askRetryMaxMs">) {
    this.#standsForMs = 2 * askRetryMaxMs;
  }

  /** Whether this is to be told: unless it was, and nothing else has been wanted under that key since. */
  isNews(key: string, what: string, nowMs: number): boolean {
    const before = this.#told.get(key);
    this.#told.set(key, { what, askedMs: nowMs });
    return before?.what !== what || nowMs - before.askedMs > this.#standsForMs;
  }
}
