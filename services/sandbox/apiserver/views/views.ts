/**
 * Conversion between API versions: how stored objects are shown in another version, and how written ones are stored.
 */
import type { ApiObject, JsonObject } from "../api-objects.ts";
import { apiVersionOf, type Resource, storedAs } from "../resources.ts";

/** Conversion to and from the stored version. */
export interface View {
  show(stored: ApiObject): ApiObject;
  store(shown: ApiObject): ApiObject;
}

const same: View = { show: (object) => object, store: (object) => object };

/** Fields of a core Event and their names in events.k8s.io/v1. */
const EVENT_FIELDS: readonly (readonly [stored: string, shown: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

function renamed(object: ApiObject, names: readonly (readonly [from: string, to: string])[]): ApiObject {
  const fields = new Map(names);
  const result: JsonObject = {};
  for (const [field, value] of Object.entries(object)) result[fields.get(field) ?? field] = value;
  return result as ApiObject;
}

const events: View = {
  show: (stored) => {
    const shown = renamed(stored, EVENT_FIELDS);
    for (const field of ["reportingController", "reportingInstance"]) if (shown[field] === "") delete shown[field];
    return { ...shown, apiVersion: "events.k8s.io/v1" };
  },
  store: (shown) => ({
    ...renamed(
      shown,
      EVENT_FIELDS.map(([stored, name]) => [name, stored] as const),
    ),
    apiVersion: "v1",
  }),
};

/** The conversion for a resource. */
export function viewOf(resource: Resource): View {
  return showsAsStored(resource) ? same : events;
}

/** Whether a resource has the version that its objects are stored in. */
export function showsAsStored(resource: Resource): boolean {
  return apiVersionOf(storedAs(resource.storage)) === apiVersionOf(resource);
}

/** The stored name of a field that a selector names in the resource's version. */
export function storedField(resource: Resource, field: string): string {
  if (showsAsStored(resource)) return field;
  const [root = "", ...path] = field.split(".");
  const stored = EVENT_FIELDS.find(([, shown]) => shown === root)?.[0] ?? root;
  return [stored, ...path].join(".");
}
