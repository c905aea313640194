/** Deadlines by key, for those who move theirs at every heartbeat. It does not know what a deadline means. */
import { Deadlines, type DeadlinesOptions } from "./deadlines.ts";

/**
 * Until it is nearer than this, a deadline is filed at the last multiple of it before it is due, in milliseconds. Most
 * have been moved on by then, and all of them are found in one waking: with 20,000 nodes it was 60 a second. It is a
 * whole number of buckets of the second wheel, which is opened by the same waking.
 */
const CHECK_MS = 1024;

interface KeyedEntry<K> {
  readonly key: K;
  dueMs: number;
  slot: number;
}

/**
 * What the deadlines are made of. `dueMs` is when one was due: how late the call comes is how late the event loop runs.
 */
export interface KeyedDeadlinesOptions<K> extends Pick<DeadlinesOptions<never>, "clock"> {
  readonly fire: (key: K, dueMs: number) => void;
}

/**
 * At most one deadline for each key. Moving one later, as every heartbeat does, only overwrites its due time: it is
 * filed anew when it is looked at. One in the past fires as soon as the clock can.
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

  /** The deadline of a key on the monotonic clock; undefined when it has none. */
  dueAt(key: K): number | undefined {
    return this.#entries.get(key)?.dueMs;
  }

  /** Sets or moves the deadline of a key. Throws a RangeError when it is no instant. */
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

  /** Takes a deadline away; nothing happens when there is none. */
  cancel(key: K): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#remove(entry);
  }

  /** Takes every deadline away. */
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
