/** Answers that are kept for a short time, so that a client that asks often costs the API server one request in it. */
import type { Clock } from "../../protocols/ports.ts";
import { BoundedMap } from "../platform/structures/bounded-map.ts";

/** How long answers are kept, and how much there may be at once. */
export interface ReviewCacheLimits {
  readonly keptMs: number;
  readonly entriesMax: number;
  readonly pendingMax: number;
}

/** Answers by key. Those under way are shared, those that failed are not kept. */
export class ReviewCache<V> {
  readonly #clock: Clock;
  readonly #limits: ReviewCacheLimits;
  readonly #kept: BoundedMap<string, { readonly value: V; readonly endsMs: number }>;
  readonly #pending = new Map<string, Promise<V>>();

  constructor(clock: Clock, limits: ReviewCacheLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#kept = new BoundedMap(limits.entriesMax);
  }

  /** The answer under a key, from `review` when none is kept. Rejects when too many are pending. */
  get(key: string, review: () => Promise<V>): Promise<V> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#clock.monotonicMs() < kept.endsMs) return Promise.resolve(kept.value);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    if (this.#pending.size >= this.#limits.pendingMax) {
      return Promise.reject(new Error(`${this.#limits.pendingMax} reviews are pending already`));
    }
    const asked = this.#ask(key, review);
    this.#pending.set(key, asked);
    return asked;
  }

  async #ask(key: string, review: () => Promise<V>): Promise<V> {
    try {
      const value = await review();
      this.#kept.set(key, { value, endsMs: this.#clock.monotonicMs() + this.#limits.keptMs });
      return value;
    } finally {
      this.#pending.delete(key);
    }
  }
}
