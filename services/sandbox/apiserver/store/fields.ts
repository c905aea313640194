/** The fields that a fieldSelector may name, by kind, and their values in an object. */
import { type ApiObject, textAt } from "../api-objects.ts";
import { badRequest } from "../api-status.ts";
import type { BuiltInStorage, Resource, StorageName } from "../resources.ts";
import type { Selector, Values } from "./selectors.ts";

const EVERY_KIND = ["metadata.name", "metadata.namespace"];

const OF_KIND: Readonly<Record<BuiltInStorage, readonly string[]>> = {
  configmaps: [],
  customresourcedefinitions: [],
  nodes: ["spec.unschedulable"],
  pods: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  leases: [],
  daemonsets: [],
  deployments: [],
  poddisruptionbudgets: [],
  replicasets: [],
  services: [],
  namespaces: ["status.phase", "name"],
  events: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  serviceaccounts: [],
};

/** The fields of a kind besides those of every kind; a custom resource has no others. */
function ownFieldsOf(storage: StorageName): readonly string[] {
  return Object.hasOwn(OF_KIND, storage) ? OF_KIND[storage as BuiltInStorage] : [];
}

/** Fields that are aliases, or not strings in the object. */
const DERIVED: Readonly<Record<string, (object: ApiObject) => string>> = {
  name: (object) => object.metadata.name,
  source: (object) => textAt(object, "source.component") || textAt(object, "reportingComponent"),
  "spec.unschedulable": (object) =>
    String((object.spec as { unschedulable?: boolean } | undefined)?.unschedulable === true),
};

/** The selectable fields of a stored object. */
export function fieldsOf(storage: StorageName, object: ApiObject): Values {
  const values: Record<string, string> = {
    "metadata.name": object.metadata.name,
    "metadata.namespace": object.metadata.namespace ?? "",
  };
  for (const field of ownFieldsOf(storage)) values[field] = DERIVED[field]?.(object) ?? textAt(object, field);
  return values;
}

/** Throws a 400 for a selector with a field that the kind does not support. */
export function checkFields(resource: Resource, selector: Selector): void {
  const known = [...EVERY_KIND, ...ownFieldsOf(resource.storage)];
  const unknown = selector.find((requirement) => !known.includes(requirement.key));
  if (unknown !== undefined) throw badRequest(`field label not supported: ${unknown.key}`);
}
