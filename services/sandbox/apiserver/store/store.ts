/** The objects of the embedded API, with one revision counter. It checks nothing; the registry does. */

import type { StorageName } from "../resources.ts";
import { History } from "./change-history.ts";
import { NamespaceBucket } from "./namespace-bucket.ts";
import { Change, type Stored } from "./stored.ts";

/** Called for every change of a collection during the write; must not write itself. */
export type ChangeListener = (change: Change) => void;

/** The objects of one resource. */
export class Collection {
  readonly name: StorageName;
  readonly history: History;
  readonly #namespaces = new Map<string, NamespaceBucket>();
  readonly #byNode = new Map<string, Set<Stored>>();
  readonly #listeners = new Set<ChangeListener>();
  #size = 0;

  constructor(name: StorageName, changesMax: number) {
    this.name = name;
    this.history = new History(changesMax);
  }

  get size(): number {
    return this.#size;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  get(namespace: string, name: string): Stored | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  /** Objects by namespace and name; of one namespace when it is not "". */
  sorted(namespace: string): Stored[] {
    const found: Stored[] = [];
    const names = namespace === "" ? [...this.#namespaces.keys()].sort(byPathSegment) : [namespace];
    for (const name of names) this.#namespaces.get(name)?.collect(found);
    return found;
  }

  /** The pods bound to a node, in the order of namespace and name. */
  onNode(node: string): Stored[] {
    return [...(this.#byNode.get(node) ?? [])].sort(
      (left, right) => byPathSegment(left.namespace, right.namespace) || (left.name < right.name ? -1 : 1),
    );
  }

  /** Calls `listener` for every change from now on. */
  listen(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies one change and notifies the listeners. */
  apply(change: Change): void {
    const { now, before } = change;
    if (before !== null && before.node !== "") this.#leaveNode(before);
    if (change.type === "DELETED") this.#remove(now);
    else this.#put(now);
    this.history.add(change);
    for (const listener of this.#listeners) listener(change);
    change.forgetLines();
  }

  /** Replaces all objects by those of an earlier or later state. Listeners do not see it. */
  restore(objects: readonly Stored[], revision: number): void {
    this.#namespaces.clear();
    this.#byNode.clear();
    this.#size = 0;
    for (const stored of objects) this.#put(stored);
    this.history.restart(revision);
  }

  #put(stored: Stored): void {
    const bucket = this.#namespaces.get(stored.namespace) ?? new NamespaceBucket();
    this.#namespaces.set(stored.namespace, bucket);
    this.#size -= bucket.size;
    bucket.set(stored.name, stored);
    this.#size += bucket.size;
    if (stored.node === "") return;
    this.#byNode.set(stored.node, (this.#byNode.get(stored.node) ?? new Set()).add(stored));
  }

  #remove(stored: Stored): void {
    const bucket = this.#namespaces.get(stored.namespace);
    if (bucket === undefined) return;
    bucket.delete(stored.name);
    this.#size -= 1;
    if (bucket.size === 0) this.#namespaces.delete(stored.namespace);
  }

  #leaveNode(stored: Stored): void {
    const here = this.#byNode.get(stored.node);
    here?.delete(stored);
    if (here?.size === 0) this.#byNode.delete(stored.node);
  }
}

/** Calls `run` once, for the next change of any of the collections. */
export function onNextChange(collections: readonly Collection[], run: () => void): void {
  const stops = collections.map((collection) =>
    collection.listen(() => {
      for (const stop of stops) stop();
      run();
    }),
  );
}

/** Namespaces sort as path segments: `/` comes before every letter but after `-` and `.`. */
function byPathSegment(left: string, right: string): number {
  if (left === right) return 0;
  return `${left}/` < `${right}/` ? -1 : 1;
}

/** Limits of the store. */
export interface StoreOptions {
  /** Changes kept for each resource before the oldest are compacted away. */
  readonly changesMax: number;
}

/** Every object of a store at one revision, as in a backup of etcd. */
export interface StoreSnapshot {
  readonly revision: number;
  readonly objects: ReadonlyMap<StorageName, readonly Stored[]>;
}

/** All collections and their common revision. */
export class Store {
  readonly #collections = new Map<StorageName, Collection>();
  readonly #changesMax: number;
  #revision = 1;

  constructor({ changesMax }: StoreOptions) {
    this.#changesMax = changesMax;
  }

  /** The revision of the last change of any object. */
  get revision(): number {
    return this.#revision;
  }

  /** The next revision, for a change about to be made. */
  nextRevision(): number {
    this.#revision += 1;
    return this.#revision;
  }

  collection(name: StorageName): Collection {
    const collection = this.#collections.get(name) ?? new Collection(name, this.#changesMax);
    this.#collections.set(name, collection);
    return collection;
  }

  /** Drops the history of every collection: watches that resume from before now get 410. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.history.compact(this.#revision);
  }

  /** Every object as it is now. */
  snapshot(): StoreSnapshot {
    const objects = [...this.#collections].map(([name, collection]) => [name, collection.sorted("")] as const);
    return { revision: this.#revision, objects: new Map(objects) };
  }

  /** Restores objects and revision from a snapshot, without history: watches that resume from before it get 410. */
  restore({ revision, objects }: StoreSnapshot): void {
    this.#revision = revision;
    for (const name of new Set([...this.#collections.keys(), ...objects.keys()])) {
      this.collection(name).restore(objects.get(name) ?? [], revision);
    }
  }

  /** Creates an object, or replaces the present one. */
  put(storage: StorageName, stored: Stored): void {
    const collection = this.collection(storage);
    const before = collection.get(stored.namespace, stored.name) ?? null;
    collection.apply(new Change(before === null ? "ADDED" : "MODIFIED", stored, before));
  }

  /** Removes an object; `last` is its last state under the revision of the deletion. */
  remove(storage: StorageName, last: Stored): void {
    const collection = this.collection(storage);
    const before = collection.get(last.namespace, last.name) ?? null;
    if (before !== null) collection.apply(new Change("DELETED", last, before));
  }
}
