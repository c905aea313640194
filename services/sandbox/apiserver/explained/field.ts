/** How the files of this folder write what `kubectl explain` says about a field. Pure. */
import type { JsonObject } from "../api-objects.ts";

/** The schema of one field, with its description. */
export type Field = JsonObject & { readonly description: string };

/** A schema to which fields refer by its name. */
export type Definition = JsonObject;

/** Definitions by name. */
export type Definitions = Readonly<Record<string, Definition>>;

/** Where a definition is in a document. */
const SCHEMAS = "#/components/schemas/";

/** A text. */
export const text = (description: string): Field => ({ type: "string", description });

/** One of several texts. */
export const oneOf = (description: string, ...values: string[]): Field => ({
  type: "string",
  description,
  enum: values,
});

/** A whole number. */
export const integer = (description: string): Field => ({ type: "integer", description });

/** True or false. */
export const truth = (description: string): Field => ({ type: "boolean", description });

/** A time as RFC 3339 writes it. */
export const time = (description: string): Field => ({ type: "string", format: "date-time", description });

/** Texts by name, such as labels or quantities. */
export const texts = (description: string): Field => ({
  type: "object",
  description,
  additionalProperties: { type: "string", default: "" },
});

/** An object whose fields are not described. */
export const anything = (description: string): Field => ({ type: "object", description });

/** An object of a definition. */
export const of = (definition: string, description: string): Field => ({
  description,
  allOf: [{ $ref: SCHEMAS + definition }],
});

/** A number, or a text such as a percentage or the name of a port. */
export const amount = (description: string): Field => of("IntOrString", description);

/** A list of objects of a definition. */
export const listOf = (definition: string, description: string): Field => ({
  type: "array",
  description,
  items: { allOf: [{ $ref: SCHEMAS + definition }] },
});

/** A list of texts. */
export const textList = (description: string): Field => ({ type: "array", description, items: { type: "string" } });

/** An object with these fields, some of them required. */
export function define(
  description: string,
  properties: Readonly<Record<string, Field>>,
  ...required: string[]
): Definition {
  return { type: "object", description, properties, ...(required.length > 0 && { required }) };
}

/** The definitions to which a schema refers, directly or through others, by name. */
export function referredTo(schema: unknown, definitions: Definitions): Definitions {
  const found: Record<string, Definition> = {};
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
