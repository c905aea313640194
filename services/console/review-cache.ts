/** Caches the API server's reviews for a short time, so that a busy client costs it one request per period. */
import type { Clock } from "../../protocols/ports.ts";
import { BoundedMap } from "../structures/bounded-map.ts";

/** How long reviews are kept, and how many may be kept and pending. */
export interface ReviewCacheLimits {
  readonly keptMs: number;
  readonly entriesMax: number;
  readonly pendingMax: number;
}

/** Reviews by key. Pending ones are shared; failed ones are not kept. */
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

  /** The value under a key, from `review` when none is kept. Rejects when too many are pending. */
  get(key: string, review: () => Promise<V>): Promise<V> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#clock.monotonicMs() < kept.endsMs) return Promise.resolve(kept.value);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    if (this.#pending.size >= this.#limits.pendingMax) {
      return Promise.reject(new Error(`${this.#limits.pendingMax} reviews are pending already`));
    }
    const started = this.#start(key, review);
    this.#pending.set(key, started);
    return started;
  }

  async #start(key: string, review: () => Promise<V>): Promise<V> {
    try {
      const value = await review();
      this.#kept.set(key, { value, endsMs: this.#clock.monotonicMs() + this.#limits.keptMs });
      return value;
    } finally {
      this.#pending.delete(key);
    }
  }
}
