/**
 * The table of resources that the embedded API serves: names, versions and scopes. How an object of a kind behaves is
 * in strategy.ts.
 */

/** The name of a collection of objects in the store. */
export type StorageName = "nodes" | "pods" | "leases" | "daemonsets" | "namespaces" | "events" | "serviceaccounts";

/** One resource under one API version. Two versions may show the same stored objects. */
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
  /** Whether `status` is a subresource of its own, which the main resource cannot write. */
  readonly hasStatus: boolean;
}

const core = { group: "", version: "v1", shortNames: [], categories: [], namespaced: true, hasStatus: false };

/** Every resource served. */
export const RESOURCES: readonly Resource[] = [
  { ...core, kind: "Event", plural: "events", singular: "event", shortNames: ["ev"], storage: "events" },
  {
    ...core,
    kind: "Namespace",
    plural: "namespaces",
    singular: "namespace",
    shortNames: ["ns"],
    namespaced: false,
    hasStatus: true,
    storage: "namespaces",
  },
  {
    ...core,
    kind: "Node",
    plural: "nodes",
    singular: "node",
    shortNames: ["no"],
    namespaced: false,
    hasStatus: true,
    storage: "nodes",
  },
  {
    ...core,
    kind: "Pod",
    plural: "pods",
    singular: "pod",
    shortNames: ["po"],
    categories: ["all"],
    hasStatus: true,
    storage: "pods",
  },
  {
    ...core,
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    singular: "serviceaccount",
    shortNames: ["sa"],
    storage: "serviceaccounts",
  },
  {
    ...core,
    group: "apps",
    kind: "DaemonSet",
    plural: "daemonsets",
    singular: "daemonset",
    shortNames: ["ds"],
    categories: ["all"],
    hasStatus: true,
    storage: "daemonsets",
  },
  { ...core, group: "coordination.k8s.io", kind: "Lease", plural: "leases", singular: "lease", storage: "leases" },
  {
    ...core,
    group: "events.k8s.io",
    kind: "Event",
    plural: "events",
    singular: "event",
    shortNames: ["ev"],
    storage: "events",
  },
];

const byPath = new Map(RESOURCES.map((resource) => [`${apiVersionOf(resource)}/${resource.plural}`, resource]));
const byStorage = new Map([...RESOURCES].reverse().map((resource) => [resource.storage, resource]));

/** `v1`, or `apps/v1`. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** The resource with a plural name under an apiVersion; null when it is not served. */
export function resourceAt(apiVersion: string, plural: string): Resource | null {
  return byPath.get(`${apiVersion}/${plural}`) ?? null;
}

/** The resource in whose version the objects of a collection are stored. */
export function storedAs(storage: StorageName): Resource {
  const resource = byStorage.get(storage);
  if (resource === undefined) throw new RangeError(`no resource is stored in ${storage}`);
  return resource;
}
