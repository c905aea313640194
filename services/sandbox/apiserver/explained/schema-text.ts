/**
 * Reads the schemas of kinds from a text like the output of `kubectl explain`. Pure.
 *
 *   Taint: A mark on a node.
 *     key <string> required: The name of the taint.
 *     effect <NoSchedule|PreferNoSchedule|NoExecute>: What it does.
 *
 * A type is `string`, `integer`, `boolean`, `object`, `time`, `map[string]string`, the name of a definition, `[]`
 * before one of these, or the values that a text may have. `(object)` after a name adds the fields of every object. A
 * line with more indentation than a field continues the one before.
 */
import type { JsonObject } from "../api-objects.ts";

/** Schemas by name. */
export type Definitions = Readonly<Record<string, JsonObject>>;

/** Where a definition is in a document. */
const SCHEMAS = "#/components/schemas/";

/** The types that are neither a definition, a list nor a choice. */
const TYPES: Definitions = {
  string: { type: "string" },
  integer: { type: "integer" },
  boolean: { type: "boolean" },
  object: { type: "object" },
  time: { type: "string", format: "date-time" },
  "map[string]string": { type: "object", additionalProperties: { type: "string", default: "" } },
};

const HEAD = /^(\w+)( \(object\))?: (.+)$/;
const FIELD = /^ {2}(\w+) <([^>]+)>( required)?: (.+)$/;

/** The fields of every object. */
export const OBJECT_FIELDS: Definitions = fieldsIn([
  "  apiVersion <string>: The group and version of the API that this object is written in, such as v1 or apps/v1.",
  "  kind <string>: The kind of the object, such as Node.",
  "  metadata <ObjectMeta>: The name, labels and annotations of the object, and what the server records about it.",
]);

/** The definitions in a text. Throws for a line that has another form. */
export function definitionsIn(text: string): Definitions {
  const joined = text.trim().replaceAll(/\n {4,}/g, " ");
  return Object.fromEntries(joined.split(/\n+(?=\S)/).map((block) => definitionIn(block.split("\n"))));
}

function definitionIn([head = "", ...lines]: readonly string[]): [string, JsonObject] {
  const [, name = "", isObject, description = ""] = partsOf(head, HEAD);
  const properties = { ...(isObject === undefined ? {} : OBJECT_FIELDS), ...fieldsIn(lines) };
  const required = lines.flatMap((line) => {
    const [, field = "", , mark] = partsOf(line, FIELD);
    return mark === undefined ? [] : [field];
  });
  return [name, { type: "object", description, properties, ...(required.length > 0 && { required }) }];
}

function fieldsIn(lines: readonly string[]): Definitions {
  return Object.fromEntries(
    lines.map((line) => {
      const [, field = "", type = "", , description = ""] = partsOf(line, FIELD);
      return [field, { ...schemaOf(type), description }];
    }),
  );
}

function schemaOf(type: string): JsonObject {
  if (type.startsWith("[]")) return { type: "array", items: schemaOf(type.slice(2)) };
  if (type.includes("|")) return { type: "string", enum: type.split("|") };
  return TYPES[type] ?? { allOf: [{ $ref: SCHEMAS + type }] };
}

function partsOf(line: string, form: RegExp): RegExpExecArray {
  const parts = form.exec(line);
  if (parts === null) throw new RangeError(`not a line of a schema: ${line}`);
  return parts;
}

/** The definitions to which a schema refers, directly or through others, by name. */
export function referredTo(schema: unknown, definitions: Definitions): Definitions {
  const found: Record<string, JsonObject> = {};
  const visit = (value: unknown): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      const definition = definitions[name];
      if (definition === undefined || Object.hasOwn(found, name)) continue;
      found[name] = definition;
      visit(definition);
    }
  };
  visit(schema);
  return found;
}
