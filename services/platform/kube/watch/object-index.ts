/**
 * The objects a reader knows, by namespace and name. The names are the objects' own texts, so an entry costs no more
 * than its slot.
 */

/** A two-level map. */
export class ObjectIndex<T> {
  readonly #namespaces = new Map<string, Map<string, T>>();

  get(namespace: string, name: string): T | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  set(namespace: string, name: string, object: T): void {
    let names = this.#namespaces.get(namespace);
    if (names === undefined) {
      names = new Map();
      this.#namespaces.set(namespace, names);
    }
    names.set(name, object);
  }

  delete(namespace: string, name: string): void {
    const names = this.#namespaces.get(namespace);
    if (names === undefined) return;
    names.delete(name);
    if (names.size === 0) this.#namespaces.delete(namespace);
  }

  /** Calls `visit` for every object. */
  forEach(visit: (namespace: string, name: string, object: T) => void): void {
    for (const [namespace, names] of this.#namespaces) {
      for (const [name, object] of names) visit(namespace, name, object);
    }
  }
}

/** How a watch names an object: its name, or `namespace/name`. */
export function keyOf(namespace: string, name: string): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}
