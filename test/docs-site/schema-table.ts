/** Writes the fields of a JSON Schema as a list of Markdown. */
import { INSTANT_MIN } from "../../protocols/bounds.ts";

/** The part of JSON Schema that the lists show. */
export interface JsonSchema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: string | number | boolean | null;
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly "x-kubernetes-int-or-string"?: boolean;
}

/** The type of a text whose pattern accepts the example but no plain name. */
const TEXT_KINDS: readonly { readonly kind: string; readonly example: string }[] = [
  { kind: "duration", example: "1m30s" },
  { kind: "instant (RFC 3339)", example: "2026-11-23T14:02:11Z" },
];
const PLAIN_NAME = "a";

/** What a page with such fields says about their notation. */
export const NOTATION = "A field with `?` is optional. `[]` stands for an item of a list, `{}` for a value of a map.";

/** What a page with bounds says about theirs. */
export const BOUNDS = `\`≤253\` is the most characters of a string, or items of a list; \`0–63\` and \`≥0\` are the values of
a number.`;

/** The list of all fields with bounds and meanings, nested ones by their path. */
export function explainedFields(schema: JsonSchema): string {
  const line = ({ path, isRequired, type, meaning }: FieldRow) =>
    `- \`${path}\`${isRequired ? "" : "?"}: ${type}${meaning === "" ? "" : `. ${meaning}`}`;
  return fieldRows(schema, "").map(line).join("\n");
}

interface FieldRow {
  readonly path: string;
  readonly isRequired: boolean;
  readonly type: string;
  /** Empty where the schema does not say. */
  readonly meaning: string;
}

function fieldRows(schema: JsonSchema, prefix: string): FieldRow[] {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]): FieldRow[] => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const row = { path, isRequired, type: typeText(field), meaning: field.description ?? "" };
    return [row, ...fieldRows(field, path)];
  });
  const { items, additionalProperties } = schema;
  const below = [
    ...(Array.isArray(items) ? [] : [[items as JsonSchema | undefined, "[]"] as const]),
    ...(typeof additionalProperties === "object" ? [[additionalProperties, "{}"] as const] : []),
  ].flatMap(([item, suffix]) => (item === undefined ? [] : fieldRows(item, `${prefix}${suffix}`)));
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return distinct([...fields, ...below, ...choices.flatMap((choice) => fieldRows(choice, prefix))]);
}

/** The first row of each path: choices of a union share fields. */
function distinct(rows: readonly FieldRow[]): FieldRow[] {
  const firsts = new Map<string, FieldRow>();
  for (const row of rows) if (!firsts.has(row.path)) firsts.set(row.path, row);
  return [...firsts.values()];
}

function typeText(schema: JsonSchema): string {
  const choices = schema.anyOf ?? schema.oneOf;
  if (schema["x-kubernetes-int-or-string"] === true) return "number or percentage";
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (choices !== undefined) return [...new Set(choices.map((choice) => typeText(choice)))].join(" or ");
  const { type = "any", items } = schema;
  if (type === "array" && items !== undefined && !Array.isArray(items)) {
    return `list${rangeText(schema.minItems, schema.maxItems)} of ${typeText(items as JsonSchema)}`;
  }
  if (type === "object" && typeof schema.additionalProperties === "object") {
    return `map of ${typeText(schema.additionalProperties)}`;
  }
  if (type === "string") return textKind(schema);
  if (type === "number" && schema.minimum === INSTANT_MIN) return "instant";
  return `${[type].flat().join(" or ")}${rangeText(schema.minimum, schema.maximum)}`;
}

function textKind({ pattern = "", maxLength }: JsonSchema): string {
  const accepted = new RegExp(pattern);
  const special = accepted.test(PLAIN_NAME) ? undefined : TEXT_KINDS.find(({ example }) => accepted.test(example));
  return special?.kind ?? `string${rangeText(undefined, maxLength)}`;
}

function rangeText(least?: number, most?: number): string {
  const min = least === undefined || least <= Number.MIN_SAFE_INTEGER ? undefined : least;
  const max = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most;
  if (min === undefined) return max === undefined ? "" : ` ≤${max}`;
  return max === undefined ? ` ≥${min}` : ` ${min}–${max}`;
}
