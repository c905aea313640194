/**
 * Structural schemas of custom resources: which fields of an object are kept, and which are filled in.
 * schema-problems.ts checks what remains.
 */
import { isObject, type Json, type JsonObject } from "../api-objects.ts";

/** A schema as its definition contains it; fields that only validation reads are not named here. */
export interface StructuralSchema extends JsonObjectLike {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: boolean | StructuralSchema;
  readonly items?: StructuralSchema;
  readonly default?: Json;
  readonly nullable?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
}

type JsonObjectLike = Readonly<Record<string, unknown>>;

/** The fields that every object has, whatever its schema says. */
const OBJECT_FIELDS = ["apiVersion", "kind", "metadata"];

/** Removes the fields that the schema does not know from an object; returns their paths, such as `spec.odd`. */
export function pruned(object: JsonObject, schema: StructuralSchema): string[] {
  const removed: string[] = [];
  pruneObject(object, { ...schema, "x-kubernetes-embedded-resource": true }, "", removed);
  return removed;
}

function prune(value: Json, schema: StructuralSchema, at: string, removed: string[]): void {
  if (isObject(value)) pruneObject(value, schema, `${at}.`, removed);
  else if (Array.isArray(value) && schema.items !== undefined) {
    for (const [index, item] of value.entries()) prune(item, schema.items, `${at}[${index}]`, removed);
  }
}

function pruneObject(object: JsonObject, schema: StructuralSchema, at: string, removed: string[]): void {
  for (const [field, value] of Object.entries(object)) {
    if (schema["x-kubernetes-embedded-resource"] === true && OBJECT_FIELDS.includes(field)) continue;
    const inner = schemaOf(schema, field);
    if (inner !== null) {
      prune(value, inner, at + field, removed);
    } else if (schema["x-kubernetes-preserve-unknown-fields"] !== true && schema.additionalProperties !== true) {
      delete object[field];
      removed.push(at + field);
    }
  }
}

/** The schema of a field; null when the schema says nothing about it. */
function schemaOf({ properties = {}, additionalProperties }: StructuralSchema, field: string): StructuralSchema | null {
  if (Object.hasOwn(properties, field)) return properties[field] ?? null;
  return typeof additionalProperties === "object" ? additionalProperties : null;
}

/** Removes each null that its schema neither allows nor replaces by a default: it counts as absent. */
export function dropNulls(value: Json, schema: StructuralSchema): void {
  if (Array.isArray(value)) {
    for (const item of schema.items === undefined ? [] : value) dropNulls(item, schema.items ?? {});
  } else if (isObject(value)) {
    for (const [field, child] of Object.entries(value)) {
      const inner = schemaOf(schema, field);
      if (inner === null) continue;
      if (child === null && inner.nullable !== true && inner.default === undefined) delete value[field];
      else dropNulls(child, inner);
    }
  }
}

/** Sets the defaults of absent fields. A null where none is allowed counts as absent. */
export function fillDefaults(value: Json, schema: StructuralSchema): void {
  if (Array.isArray(value)) {
    for (const item of schema.items === undefined ? [] : value) fillDefaults(item, schema.items ?? {});
  } else if (isObject(value)) {
    for (const [field, { default: preset, nullable }] of Object.entries(schema.properties ?? {})) {
      const isAbsent = value[field] === undefined || (value[field] === null && nullable !== true);
      if (preset !== undefined && isAbsent) value[field] = structuredClone(preset);
    }
    for (const [field, child] of Object.entries(value)) fillDefaults(child, schemaOf(schema, field) ?? {});
  }
}
