/** Deadlines by key, for users that move theirs at every heartbeat. */
import { Deadlines, type DeadlinesOptions } from "./deadlines.ts";

/**
 * A deadline further away than this, in milliseconds, is filed at the last multiple of it before it is due. By then
 * most have moved on, and one wake-up checks all of them; with 20,000 nodes it was 60 a second. It is a multiple of a
 * bucket of the second wheel, which the same wake-up empties.
 */
const CHECK_MS = 1024;

interface KeyedEntry<K> {
  readonly key: K;
  dueMs: number;
  slot: number;
}

/** The context of keyed deadlines. `dueMs` is when the deadline was due: a late call means a late event loop. */
export interface KeyedDeadlinesOptions<K> extends Pick<DeadlinesOptions<never>, "clock"> {
  readonly fire: (key: K, dueMs: number) => void;
}

/**
 * At most one deadline per key. Moving one later, as every heartbeat does, only overwrites its due time; it is filed
 * again when it is checked. One in the past fires as soon as the clock runs.
 */
export class KeyedDeadlines<K> {
  readonly #options: KeyedDeadlinesOptions<K>;
  readonly #entries = new Map<K, KeyedEntry<K>>();
  readonly #deadlines: Deadlines<KeyedEntry<K>>;

  constructor(options: KeyedDeadlinesOptions<K>) {
    this.#options = options;
    this.#deadlines = new Deadlines({ clock: options.clock, fire: (entry) => this.#wake(entry) });
  }

  get size(): number {
    return this.#entries.size;
  }

  /** When a key is due, on the monotonic clock; undefined without a deadline. */
  dueAt(key: K): number | undefined {
    return this.#entries.get(key)?.dueMs;
  }

  /** Sets or moves the deadline of a key. Throws a RangeError when `dueMs` is not finite. */
  schedule(key: K, dueMs: number): void {
    if (!Number.isFinite(dueMs)) throw new RangeError(`a deadline must be finite, not ${dueMs}`);
    const held = this.#entries.get(key);
    const entry = held ?? { key, dueMs, slot: 0 };
    entry.dueMs = dueMs;
    if (held === undefined) {
      entry.slot = this.#deadlines.add(entry);
      this.#entries.set(key, entry);
    } else if (dueMs >= this.#deadlines.dueAt(entry.slot)) return;
    this.#file(entry, this.#options.clock.monotonicMs());
  }

  cancel(key: K): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#remove(entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#deadlines.stop();
  }

  #remove(entry: KeyedEntry<K>): void {
    this.#entries.delete(entry.key);
    this.#deadlines.remove(entry.slot);
  }

  #file({ slot, dueMs }: KeyedEntry<K>, nowMs: number): void {
    const checkMs = Math.floor(dueMs / CHECK_MS) * CHECK_MS;
    this.#deadlines.set(slot, checkMs > nowMs ? checkMs : dueMs);
  }

  #wake(entry: KeyedEntry<K>): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (entry.dueMs > nowMs) {
      this.#file(entry, nowMs);
      return;
    }
    this.#remove(entry);
    this.#options.fire(entry.key, entry.dueMs);
  }
}
