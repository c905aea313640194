/** A binary heap. */

/** A priority queue: the least item by the strict order `before` comes first. */
export class MinHeap<T> {
  readonly #items: T[] = [];
  readonly #before: (left: T, right: T) => boolean;

  constructor(before: (left: T, right: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The least item, which stays in the heap; undefined when it is empty. */
  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let hole = this.#items.length;
    this.#items.push(item);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const above = this.#items[parent];
      if (above === undefined || !this.#before(item, above)) break;
      this.#items[hole] = above;
      hole = parent;
    }
    this.#items[hole] = item;
  }

  /** Removes and returns the least item; undefined when the heap is empty. */
  pop(): T | undefined {
    const least = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.#sink(last);
    return least;
  }

  keep(passes: (item: T) => boolean): void {
    const kept = this.#items.filter(passes);
    this.#items.length = 0;
    for (const item of kept) this.push(item);
  }

  #sink(item: T): void {
    let hole = 0;
    for (;;) {
      const least = this.#leastChild(hole);
      const child = this.#items[least];
      if (child === undefined || !this.#before(child, item)) break;
      this.#items[hole] = child;
      hole = least;
    }
    this.#items[hole] = item;
  }

  #leastChild(parent: number): number {
    const left = 2 * parent + 1;
    const leftItem = this.#items[left];
    const rightItem = this.#items[left + 1];
    if (leftItem === undefined || rightItem === undefined) return left;
    return this.#before(rightItem, leftItem) ? left + 1 : left;
  }
}
