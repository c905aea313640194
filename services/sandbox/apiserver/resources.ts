/**
 * The built-in resources that the embedded API serves; resource-catalog.ts adds the custom ones. strategy.ts has the
 * behaviour of each kind.
 */
import type { StructuralSchema } from "./custom/structural-schema.ts";
import type { Column } from "./views/column.ts";

/** The name of a collection of objects of a built-in kind in the store. */
export type BuiltInStorage =
  | "configmaps"
  | "customresourcedefinitions"
  | "daemonsets"
  | "deployments"
  | "events"
  | "leases"
  | "namespaces"
  | "nodes"
  | "poddisruptionbudgets"
  | "pods"
  | "replicasets"
  | "serviceaccounts"
  | "services";

/** The name of a collection in the store; that of a custom resource is its definition's: plural and group. */
export type StorageName = BuiltInStorage | `${string}.${string}`;

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
  /** The version in which objects are stored, whatever version they are read in. */
  readonly storedVersion: string;
  /** Whether `status` is a subresource that the main resource cannot write. */
  readonly hasStatus: boolean;
  /** What the definition of a custom resource says about this version; null for a built-in kind. */
  readonly custom: CustomVersion | null;
}

/** Where an object lives. */
export interface Place {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** What the definition of a custom resource says about one of its versions. */
export interface CustomVersion {
  readonly schema: StructuralSchema;
  readonly columns: readonly PrinterColumn[];
}

/** One column of `kubectl get`, beside the name. */
export interface PrinterColumn extends Required<Column> {
  readonly jsonPath: string;
}

/** A resource of a built-in kind. */
export interface BuiltInResource extends Resource {
  readonly storage: BuiltInStorage;
  readonly custom: null;
}

/** A core resource in a namespace without a status, by its kind and plural name. */
function core(kind: string, storage: BuiltInStorage, shortNames: string[]): BuiltInResource {
  const names = { kind, plural: storage, singular: kind.toLowerCase(), shortNames, storage };
  const versions = { version: "v1", storedVersion: "v1" };
  return { ...names, ...versions, group: "", categories: [], namespaced: true, hasStatus: false, custom: null };
}

const budgets: BuiltInResource = {
  ...core("PodDisruptionBudget", "poddisruptionbudgets", ["pdb"]),
  group: "policy",
  hasStatus: true,
};

/** The resources of the built-in kinds; a kind with several versions has the stored one first. */
export const BUILT_IN_RESOURCES: readonly BuiltInResource[] = [
  core("ConfigMap", "configmaps", ["cm"]),
  core("Event", "events", ["ev"]),
  { ...core("Namespace", "namespaces", ["ns"]), namespaced: false, hasStatus: true },
  { ...core("Node", "nodes", ["no"]), namespaced: false, hasStatus: true },
  { ...core("Pod", "pods", ["po"]), categories: ["all"], hasStatus: true },
  { ...core("Service", "services", ["svc"]), categories: ["all"], hasStatus: true },
  core("ServiceAccount", "serviceaccounts", ["sa"]),
  {
    ...core("CustomResourceDefinition", "customresourcedefinitions", ["crd", "crds"]),
    group: "apiextensions.k8s.io",
    namespaced: false,
    hasStatus: true,
  },
  { ...core("DaemonSet", "daemonsets", ["ds"]), group: "apps", categories: ["all"], hasStatus: true },
  { ...core("Deployment", "deployments", ["deploy"]), group: "apps", categories: ["all"], hasStatus: true },
  { ...core("ReplicaSet", "replicasets", ["rs"]), group: "apps", categories: ["all"], hasStatus: true },
  { ...core("Lease", "leases", []), group: "coordination.k8s.io" },
  budgets,
  { ...budgets, version: "v1beta1" },
];

const byStorage = new Map(BUILT_IN_RESOURCES.toReversed().map((resource) => [resource.storage, resource]));

/** `v1`, or `apps/v1`. */
export function apiVersionOf(resource: { readonly group: string; readonly version: string }): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/** The apiVersion in which the objects of a resource are stored. */
export function storedApiVersionOf(resource: Resource): string {
  return apiVersionOf({ group: resource.group, version: resource.storedVersion });
}

/** The built-in resource whose objects are in a collection. */
export function storedAs(storage: BuiltInStorage): BuiltInResource {
  const resource = byStorage.get(storage);
  if (resource === undefined) throw new RangeError(`no resource is stored in ${storage}`);
  return resource;
}
