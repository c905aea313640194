/** API objects as the embedded server handles them: plain JSON with the few fields that every object has. */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
/** A JSON object. */
export type JsonObject = { [field: string]: Json };

/** Metadata of an object; other fields are kept as they are. */
export type ObjectMeta = JsonObject & {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  generation?: number;
  generateName?: string;
};

/** An API object as JSON. */
export type ApiObject = { apiVersion: string; kind: string; metadata: ObjectMeta; [field: string]: Json };

/** Whether a value is a JSON object, neither a list nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in a field, or an empty one that is not attached to it. */
export function childObject(parent: JsonObject, field: string): JsonObject {
  const child = parent[field];
  return isObject(child) ? child : {};
}

/** The objects in a list field; none if it is no list. */
export function childList(parent: JsonObject, field: string): JsonObject[] {
  const child = parent[field];
  return Array.isArray(child) ? child.filter(isObject) : [];
}

/** The string in a field, or "". */
export function textOf(parent: JsonObject, field: string): string {
  const value = parent[field];
  return typeof value === "string" ? value : "";
}

/** The string at a dotted path such as `spec.nodeName`, or "". */
export function textAt(object: JsonObject, path: string): string {
  const fields = path.split(".");
  const last = fields.pop() ?? "";
  return textOf(
    fields.reduce((parent, field) => childObject(parent, field), object),
    last,
  );
}

/** Deep equality; the order of an object's fields has no meaning. */
export function sameJson(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isObject(left) || !isObject(right)) return false;
  const fields = Object.keys(left);
  return (
    fields.length === Object.keys(right).length &&
    fields.every((field) => Object.hasOwn(right, field) && sameJson(left[field], right[field]))
  );
}
