/** The resources that the embedded API serves. strategy.ts has the behaviour of each kind. */

/** The name of a collection of objects in the store. */
export type StorageName = "nodes" | "pods" | "leases" | "daemonsets" | "namespaces" | "events" | "serviceaccounts";

/** One resource in its API version. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly storage: StorageName;
  /** Whether `status` is a subresource that the main resource cannot write. */
  readonly hasStatus: boolean;
}

/** A core resource in a namespace without a status, by its kind and plural name. */
function core(kind: string, storage: StorageName, shortNames: string[]): Resource {
  const names = { kind, plural: storage, singular: kind.toLowerCase(), shortNames, storage };
  return { ...names, group: "", version: "v1", categories: [], namespaced: true, hasStatus: false };
}

/** Every resource served. */
export const RESOURCES: readonly Resource[] = [
  core("Event", "events", ["ev"]),
  { ...core("Namespace", "namespaces", ["ns"]), namespaced: false, hasStatus: true },
  { ...core("Node", "nodes", ["no"]), namespaced: false, hasStatus: true },
  { ...core("Pod", "pods", ["po"]), categories: ["all"], hasStatus: true },
  core("ServiceAccount", "serviceaccounts", ["sa"]),
  { ...core("DaemonSet", "daemonsets", ["ds"]), group: "apps", categories: ["all"], hasStatus: true },
  { ...core("Lease", "leases", []), group: "coordination.k8s.io" },
];

const byPath = new Map(RESOURCES.map((resource) => [`${apiVersionOf(resource)}/${resource.plural}`, resource]));
const byStorage = new Map(RESOURCES.map((resource) => [resource.storage, resource]));

/** `v1`, or `apps/v1`. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** The resource with a plural name in an apiVersion; null when it is not served. */
export function resourceAt(apiVersion: string, plural: string): Resource | null {
  return byPath.get(`${apiVersion}/${plural}`) ?? null;
}

/** The resource whose objects a collection holds. */
export function storedAs(storage: StorageName): Resource {
  const resource = byStorage.get(storage);
  if (resource === undefined) throw new RangeError(`no resource is stored in ${storage}`);
  return resource;
}
