/** Remembers what shadow mode only rehearsed, so that what is asked for again is told once. It tells nobody. */
import type { Profile } from "../../../protocols/profile.ts";
import { BoundedMap } from "../structures/bounded-map.ts";

/** Wishes remembered at once; beyond it the one longest unasked is forgotten, and told again. */
const SHADOWED_MAX = 100_000;

interface ShadowedWrite {
  readonly what: string;
  readonly askedMs: number;
}

/** Writes that were rehearsed, by who wants them of which object. */
export class ShadowedWrites {
  readonly #writes = new BoundedMap<string, ShadowedWrite>(SHADOWED_MAX);
  /** Whoever still wants something asks for it again within this time. */
  readonly #standsForMs: number;

  constructor({ askRetryMaxMs }: Pick<Profile, "askRetryMaxMs">) {
    this.#standsForMs = 2 * askRetryMaxMs;
  }

  /** Whether this is to be told: unless it was, and nothing else has been wanted under that key since. */
  isNew(key: string, what: string, nowMs: number): boolean {
    const before = this.#writes.get(key);
    this.#writes.set(key, { what, askedMs: nowMs });
    return before?.what !== what || nowMs - before.askedMs > this.#standsForMs;
  }
}
