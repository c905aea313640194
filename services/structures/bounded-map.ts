/** A map with a limit on its entries that drops the one set least recently. */

/** A bounded map. Setting an entry makes it the newest; iteration begins with the oldest. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #max: number;
  readonly #dropped: ((value: V) => void) | undefined;

  /** `dropped` is called with every value that had to make room. */
  constructor(max: number, dropped?: (value: V) => void) {
    super();
    this.#max = max;
    this.#dropped = dropped;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#max) this.dropOldest();
    return this;
  }

  dropOldest(): void {
    for (const [key, value] of this) {
      this.delete(key);
      this.#dropped?.(value);
      return;
    }
  }
}
