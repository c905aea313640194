/** The resources that an embedded API serves now: the built-in ones, and those that definitions have added. */
import { apiVersionOf, BUILT_IN_RESOURCES, type Resource, type StorageName } from "./resources.ts";

/** Finds resources by their path. */
export class ResourceCatalog {
  readonly #custom = new Map<StorageName, readonly Resource[]>();
  #all: readonly Resource[] = BUILT_IN_RESOURCES;
  #byPath = byPath(BUILT_IN_RESOURCES);

  /** Every resource served; another list after every change. */
  get all(): readonly Resource[] {
    return this.#all;
  }

  /** The resource with a plural name in an apiVersion; null when it is not served. */
  at(apiVersion: string, plural: string): Resource | null {
    return this.#byPath.get(`${apiVersion}/${plural}`) ?? null;
  }

  /** The served versions of a custom resource; none for an unknown one. */
  customAt(storage: StorageName): readonly Resource[] {
    return this.#custom.get(storage) ?? [];
  }

  /** Serves a custom resource in these versions from now on; in none, it is served no longer. */
  serve(storage: StorageName, versions: readonly Resource[]): void {
    if (versions.length === 0) this.#custom.delete(storage);
    else this.#custom.set(storage, versions);
    this.#all = [...BUILT_IN_RESOURCES, ...[...this.#custom.values()].flat()];
    this.#byPath = byPath(this.#all);
  }
}

function byPath(resources: readonly Resource[]): ReadonlyMap<string, Resource> {
  return new Map(resources.map((resource) => [`${apiVersionOf(resource)}/${resource.plural}`, resource]));
}
