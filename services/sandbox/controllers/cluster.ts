/** The cluster as a controller sees it: its objects, and the verbs to change them. */
import type { Clock, Stop } from "../../../protocols/ports.ts";
import type { ApiObject } from "../apiserver/api-objects.ts";
import type { ApiServer } from "../apiserver/apiserver.ts";
import { type BuiltInStorage, type Resource, storedAs } from "../apiserver/resources.ts";
import type { ChangeListener, Collection } from "../apiserver/store/store.ts";

/** Options of a delete without preconditions, with the object's own grace period. */
export const PLAIN_DELETE = { uid: null, resourceVersion: null, gracePeriodSeconds: null } as const;

/** The objects of one API server. */
export class Cluster {
  readonly clock: Clock;
  readonly #api: ApiServer;
  readonly #stops: Stop[] = [];

  constructor(api: ApiServer, clock: Clock) {
    this.#api = api;
    this.clock = clock;
  }

  /** The verbs that write. */
  get registry(): ApiServer["registry"] {
    return this.#api.registry;
  }

  /** The resources with objects in namespaces, each in one version. */
  get namespaced(): Resource[] {
    const resources = this.#api.catalog.all.filter(({ namespaced }) => namespaced);
    return [...new Map(resources.toReversed().map((resource) => [resource.storage, resource])).values()];
  }

  collection(storage: Resource["storage"]): Collection {
    return this.#api.store.collection(storage);
  }

  /** The object with a key `namespace/name`; null if there is none. */
  object(storage: BuiltInStorage, key: string): ApiObject | null {
    const [namespace = "", name = ""] = key.split("/");
    return this.collection(storage).get(namespace, name)?.object() ?? null;
  }

  /** The objects of a namespace whose JSON contains a text, such as the uid of an owner. */
  objectsWith(storage: BuiltInStorage, namespace: string, text: string): ApiObject[] {
    const stored = this.collection(storage).sorted(namespace);
    return stored.filter(({ json }) => json.includes(text)).map((one) => one.object());
  }

  /** Replaces the status of an object; nothing is written if it is the same. */
  report(storage: BuiltInStorage, { metadata }: ApiObject, status: ApiObject["status"]): void {
    const place = { resource: storedAs(storage), namespace: metadata.namespace ?? "", name: metadata.name };
    this.registry.update(place, "status", (before) => ({ ...before, status: status ?? null }));
  }

  /** Calls `listener` for every change of a collection until `stop`. */
  follow(storage: BuiltInStorage, listener: ChangeListener): void {
    this.#stops.push(this.collection(storage).listen(listener));
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }
}

/** The key of an object. */
export function keyOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace ?? ""}/${name}`;
}
