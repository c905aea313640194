/** Keeps the writes that shadow mode has reported, so that a repeated request is reported once. */
import type { Profile } from "../../../protocols/profile.ts";
import { BoundedMap } from "../structures/bounded-map.ts";

/** Writes kept at once. Beyond it the one requested least recently is dropped, and reported if requested again. */
const SHADOWED_MAX = 100_000;

interface ShadowedWrite {
  readonly what: string;
  readonly requestedMs: number;
}

/** The shadowed writes by key, which names the requester and the object. */
export class ShadowedWrites {
  readonly #writes = new BoundedMap<string, ShadowedWrite>(SHADOWED_MAX);
  /** A change that is still desired is requested again within this time. */
  readonly #standsForMs: number;

  constructor({ askRetryMaxMs }: Pick<Profile, "askRetryMaxMs">) {
    this.#standsForMs = 2 * askRetryMaxMs;
  }

  /** Whether to report a write: its key has no recent request, or the last one was for another change. */
  isNew(key: string, what: string, nowMs: number): boolean {
    const before = this.#writes.get(key);
    this.#writes.set(key, { what, requestedMs: nowMs });
    return before?.what !== what || nowMs - before.requestedMs > this.#standsForMs;
  }
}
