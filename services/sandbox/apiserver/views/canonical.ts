/**
 * Gives an object the form in which the real server writes it: its field order, its handling of empty fields, its time
 * format. Clients that scan bytes, and comparisons, rely on that. object-shapes.ts has the shapes.
 */
import { apiMicroTime, apiTime, epochMsOf } from "../../../domain/api-time.ts";
import { isObject, type Json, type JsonObject } from "../api-objects.ts";
import { canonicalQuantity } from "../canonical-quantity.ts";

/**
 * The form of an object, or of each item of a list. Fields it does not name follow unchanged, unless the shape is
 * closed.
 */
export interface Shape {
  /** Fields in the order they are written. */
  readonly order?: readonly string[];
  /** Whether fields outside the order are dropped, as unknown ones are by the real server. */
  readonly closed?: true;
  /** Fields that are omitted when empty: "", false, 0, {} or []. */
  readonly omitEmpty?: readonly string[];
  /** Fields that are always present, with their defaults. */
  readonly always?: JsonObject;
  /** Timestamps in whole seconds. */
  readonly times?: readonly string[];
  /** Timestamps in microseconds. */
  readonly microTimes?: readonly string[];
  /** Fields with quantities by resource name. */
  readonly quantities?: readonly string[];
  /** Field types; an absent field has any type. */
  readonly types?: Readonly<Record<string, FieldType>>;
  /** Shapes of objects, or of the items of lists, in fields. */
  readonly fields?: Readonly<Record<string, Shape>>;
}

/** The type of a field; `texts` is an object of strings, such as labels. */
export type FieldType = "text" | "integer" | "int32" | "boolean" | "object" | "texts" | "list";

/** A field of the wrong type; the response contains the message. */
export class UnreadableField extends Error {}

/** The object in its shape. The argument is not changed; parts without a shape are shared. */
export function canonical(object: JsonObject, shape: Shape): JsonObject {
  const shaped: JsonObject = {};
  for (const field of shape.order ?? []) put(shaped, field, object[field], shape);
  for (const [field, value] of shape.closed === true ? [] : Object.entries(object)) {
    if (!Object.hasOwn(shaped, field)) put(shaped, field, value, shape);
  }
  for (const [field, value] of Object.entries(shape.always ?? {})) {
    if (!Object.hasOwn(shaped, field)) put(shaped, field, value, shape);
  }
  return shaped;
}

function put(shaped: JsonObject, field: string, given: Json | undefined, shape: Shape): void {
  const value = given ?? shape.always?.[field];
  if (value === undefined) return;
  const type = shape.types?.[field];
  if (type !== undefined && value !== null && !IS[type](value)) throw new UnreadableField(`${field}: expected ${type}`);
  if (isEmpty(value) && shape.omitEmpty?.includes(field)) return;
  shaped[field] = valueIn(field, value, shape);
}

const IS: Readonly<Record<FieldType, (value: Json) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  int32: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31,
  boolean: (value) => typeof value === "boolean",
  object: isObject,
  texts: (value) => isObject(value) && Object.values(value).every((text) => typeof text === "string"),
  list: (value) => Array.isArray(value),
};

function valueIn(field: string, value: Json, shape: Shape): Json {
  const inner = shape.fields?.[field];
  if (inner !== undefined) {
    if (Array.isArray(value)) return value.map((item) => (isObject(item) ? canonical(item, inner) : item));
    return isObject(value) ? canonical(value, inner) : value;
  }
  if (value === null) return value;
  if (shape.quantities?.includes(field) && isObject(value)) return quantitiesIn(value);
  if (shape.times?.includes(field)) return apiTime(instantOf(value, SECONDS));
  return shape.microTimes?.includes(field) ? apiMicroTime(instantOf(value, MICROSECONDS)) : value;
}

function quantitiesIn(amounts: JsonObject): JsonObject {
  const shaped: JsonObject = {};
  for (const [resource, amount] of Object.entries(amounts)) {
    const text = typeof amount === "number" ? String(amount) : amount;
    const quantity = typeof text === "string" ? canonicalQuantity(text) : null;
    if (quantity === null) throw new UnreadableField(`${resource}: ${QUANTITY_WORDS}`);
    shaped[resource] = quantity;
  }
  return shaped;
}

function isEmpty(value: Json): boolean {
  if (isObject(value)) return Object.keys(value).length === 0;
  return Array.isArray(value) ? value.length === 0 : !value;
}

const QUANTITY_WORDS = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** Upstream requires all six digits of a MicroTime. */
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;

function instantOf(value: Json, form: RegExp): number {
  const instant = typeof value === "string" && form.test(value) ? epochMsOf(value) : null;
  if (instant !== null) return instant;
  const layout = form === SECONDS ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
  throw new UnreadableField(`parsing time ${JSON.stringify(value)} as "${layout}": it does not have this form`);
}
