/** A map that holds no more than a given number of entries and drops the one longest untouched. It keeps no time. */

/** A map with a ceiling; setting an entry makes it the newest. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #max: number;
  readonly #dropped: ((value: V) => void) | undefined;

  /** `dropped` is told of every entry that had to make room. */
  constructor(max: number, dropped?: (value: V) => void) {
    this.#max = max;
    this.#dropped = dropped;
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Sets an entry as the newest. */
  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#max) this.dropOldest();
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  /** Every value, the longest untouched first. */
  values(): IterableIterator<V> {
    return this.#entries.values();
  }

  /** Every entry, the longest untouched first. */
  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }

  /** Makes room by one entry. */
  dropOldest(): void {
    for (const [key, value] of this.#entries) {
      this.#entries.delete(key);
      this.#dropped?.(value);
      return;
    }
  }
}
