/** The objects of one namespace by name, with their order for lists. */
import type { Stored } from "./stored.ts";

/** Objects by name. The order is computed lazily: a write sorts nothing, a list sorts only the new names. */
export class NamespaceBucket {
  readonly #objects = new Map<string, Stored>();
  #order: string[] = [];
  #added: string[] = [];

  get size(): number {
    return this.#objects.size;
  }

  get(name: string): Stored | undefined {
    return this.#objects.get(name);
  }

  set(name: string, stored: Stored): void {
    if (!this.#objects.has(name)) this.#added.push(name);
    this.#objects.set(name, stored);
  }

  delete(name: string): void {
    this.#objects.delete(name);
  }

  /** Appends every object to `into`, in the order of names. */
  collect(into: Stored[]): void {
    this.#sort();
    for (const name of this.#order) {
      const stored = this.#objects.get(name);
      if (stored !== undefined) into.push(stored);
    }
  }

  #sort(): void {
    if (this.#added.length === 0 && this.#order.length === this.#objects.size) return;
    const added = this.#added.sort();
    const merged: string[] = [];
    let next = 0;
    const take = (name: string): void => {
      if (this.#objects.has(name) && merged[merged.length - 1] !== name) merged.push(name);
    };
    for (const name of this.#order) {
      for (; next < added.length && (added[next] ?? "") <= name; next++) take(added[next] ?? "");
      take(name);
    }
    for (; next < added.length; next++) take(added[next] ?? "");
    this.#order = merged;
    this.#added = [];
  }
}
