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

/** Shapes that a page has shown: by their schema, what to say of them instead of showing them again. */
export type ShownShapes = Map<string, string>;

const FIELDS_WORTH_A_REFERENCE = 3;

/** The key of a shape in {@link ShownShapes}. */
export function shapeKey(shape: JsonSchema): string {
  return JSON.stringify(shape);
}

/** The list of all fields with bounds and meanings, nested ones by their path. */
export function explainedFields(schema: JsonSchema): string {
  const rows = fieldRows(schema, "", { shownBefore: () => undefined, typeText: boundedType });
  const line = ({ path, isRequired, type, meaning }: FieldRow) =>
    `- \`${path}\`${mark(isRequired)}: ${type}${meaning === "" ? "" : `. ${meaning}`}`;
  return rows.map(line).join("\n");
}

/**
 * The list of all fields without bounds. With `shown`, an object that has been shown before is named by where, and `of`
 * is where this list is.
 */
export function fieldList(schema: JsonSchema, of = "", shown?: ShownShapes): string {
  const shownBefore: Rendering["shownBefore"] = (shape, path) => {
    const fields = Object.keys(shape.properties ?? {}).length;
    if (shown === undefined || path === "" || fields < FIELDS_WORTH_A_REFERENCE) return undefined;
    const before = shown.get(shapeKey(shape));
    if (before === undefined) shown.set(shapeKey(shape), `as \`${path}\` of ${of}`);
    return before;
  };
  const rows = fieldRows(schema, "", { shownBefore, typeText: plainType });
  return runsOfType(rows)
    .map(([first, ...others]) => {
      const names = [first, ...others].map(({ path, isRequired }) => `\`${path}\`${mark(isRequired)}`).join(", ");
      return `- ${names}: ${first.type}`;
    })
    .join("\n");
}

/** Rows that follow each other with one type, together. */
function runsOfType(rows: readonly FieldRow[]): (readonly [FieldRow, ...FieldRow[]])[] {
  const runs: [FieldRow, ...FieldRow[]][] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    if (last !== undefined && last[0].type === row.type && !row.type.includes("object")) last.push(row);
    else runs.push([row]);
  }
  return runs;
}

function mark(isRequired: boolean): string {
  return isRequired ? "" : "?";
}

/** How fields are shown. */
interface Rendering {
  /** Where a shape at a path has been shown before; undefined shows it here. */
  readonly shownBefore: (shape: JsonSchema, path: string) => string | undefined;
  readonly typeText: (schema: JsonSchema) => string;
}

interface FieldRow {
  readonly path: string;
  readonly isRequired: boolean;
  readonly type: string;
  /** Empty where the schema does not say. */
  readonly meaning: string;
}

function fieldRows(schema: JsonSchema, prefix: string, how: Rendering): FieldRow[] {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]): FieldRow[] => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const meaning = field.description ?? "";
    const { shape, mark } = shapeOf(field);
    const before = how.shownBefore(shape, `${path}${mark}`);
    if (before !== undefined) return [{ path, isRequired, type: `${how.typeText(field)} ${before}`, meaning }];
    return [{ path, isRequired, type: how.typeText(field), meaning }, ...fieldRows(field, path, how)];
  });
  const { items, additionalProperties } = schema;
  const below = [
    ...(Array.isArray(items) ? [] : [[items as JsonSchema | undefined, "[]"] as const]),
    ...(typeof additionalProperties === "object" ? [[additionalProperties, "{}"] as const] : []),
  ].flatMap(([item, suffix]) => (item === undefined ? [] : fieldRows(item, `${prefix}${suffix}`, how)));
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return distinct([...fields, ...below, ...choices.flatMap((choice) => fieldRows(choice, prefix, how))]);
}

/** The object that a field, its items or the one alternative to null has, and the mark of its path. */
function shapeOf(field: JsonSchema): { readonly shape: JsonSchema; readonly mark: string } {
  if (field.items !== undefined && !Array.isArray(field.items)) return { shape: field.items as JsonSchema, mark: "[]" };
  const [only, ...others] = (field.anyOf ?? field.oneOf ?? []).filter(({ type }) => type !== "null");
  return { shape: only !== undefined && others.length === 0 ? only : field, mark: "" };
}

/** The first row of each path: choices of a union share fields. */
function distinct(rows: readonly FieldRow[]): FieldRow[] {
  const firsts = new Map<string, FieldRow>();
  for (const row of rows) if (!firsts.has(row.path)) firsts.set(row.path, row);
  return [...firsts.values()];
}

function boundedType(schema: JsonSchema): string {
  return typeText(schema, rangeText);
}

function plainType(schema: JsonSchema): string {
  return typeText(schema, () => "");
}

function typeText(schema: JsonSchema, range: (min?: number, max?: number) => string): string {
  const choices = schema.anyOf ?? schema.oneOf;
  if (schema["x-kubernetes-int-or-string"] === true) return "number or percentage";
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (choices !== undefined) return [...new Set(choices.map((choice) => typeText(choice, range)))].join(" or ");
  const { type = "any", items } = schema;
  if (type === "array" && items !== undefined && !Array.isArray(items)) {
    return `list${range(schema.minItems, schema.maxItems)} of ${typeText(items as JsonSchema, range)}`;
  }
  if (type === "object" && typeof schema.additionalProperties === "object") {
    return `map of ${typeText(schema.additionalProperties, range)}`;
  }
  if (type === "string") return textKind(schema, range);
  if (type === "number" && schema.minimum === INSTANT_MIN) return "instant";
  return `${[type].flat().join(" or ")}${range(schema.minimum, schema.maximum)}`;
}

function textKind({ pattern = "", maxLength }: JsonSchema, range: (min?: number, max?: number) => string): string {
  const accepted = new RegExp(pattern);
  const special = accepted.test(PLAIN_NAME) ? undefined : TEXT_KINDS.find(({ example }) => accepted.test(example));
  return special?.kind ?? `string${range(undefined, maxLength)}`;
}

function rangeText(least: number | undefined, most: number | undefined): string {
  const min = least === undefined || least <= Number.MIN_SAFE_INTEGER ? undefined : least;
  const max = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most;
  if (min === undefined) return max === undefined ? "" : ` ≤${max}`;
  return max === undefined ? ` ≥${min}` : ` ${min}–${max}`;
}
