/** Validation of objects by the schema of their definition, with the real server's messages. */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { isObject, type Json, type JsonObject } from "../api-objects.ts";
import { textsOf } from "../custom/definition.ts";
import type { StructuralSchema } from "../custom/structural-schema.ts";
import { type FieldProblem, invalidField, required, unsupported } from "./problems.ts";

/** A schema as JSON schema, and what checks it. */
interface Checker {
  readonly schema: JsonObject;
  readonly validator: Validator;
}

const checkers = new WeakMap<StructuralSchema, Checker>();

/** The problems of a value under a schema; `at` is its path, "" for an object. */
export function schemaProblems(value: Json, schema: StructuralSchema, at = ""): FieldProblem[] {
  const checker = checkers.get(schema) ?? checkerOf(schema);
  checkers.set(schema, checker);
  const { errors } = checker.validator.validate(value);
  return errors.flatMap((error) => problemOf(error, value, checker.schema, at));
}

function checkerOf(structural: StructuralSchema): Checker {
  const schema = jsonSchemaOf(structural);
  // The validator adds marks of its own to the schema that it is given.
  return { schema, validator: new Validator(structuredClone(schema) as Schema, "4", false) };
}

/** The formats that mean the same in OpenAPI and in JSON Schema; others are not checked. */
const FORMATS = ["date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"];

/** The JSON schema (draft 4) with the meaning of a structural schema. */
function jsonSchemaOf({ default: _default, ...structural }: StructuralSchema): JsonObject {
  const schema: JsonObject = {};
  for (const [keyword, value] of Object.entries(structural)) schema[keyword] = nested(keyword, value as Json);
  if (structural["x-kubernetes-int-or-string"] === true) schema.type = ["integer", "string"];
  if (structural.nullable === true) {
    schema.type = [schema.type ?? []].flat().concat("null");
    if (Array.isArray(schema.enum)) schema.enum = [...schema.enum, null];
  }
  if (!FORMATS.some((format) => format === schema.format)) delete schema.format;
  if (!isPattern(schema.pattern)) delete schema.pattern;
  return schema;
}

function nested(keyword: string, value: Json): Json {
  const inner = (schema: Json): Json => (isObject(schema) ? jsonSchemaOf(schema) : schema);
  if (["items", "additionalProperties", "not"].includes(keyword)) return inner(value);
  if (["allOf", "anyOf", "oneOf"].includes(keyword) && Array.isArray(value)) return value.map(inner);
  if (keyword !== "properties" || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([field, schema]) => [field, inner(schema)]));
}

/** Whether JavaScript understands a pattern, which is written for RE2. */
function isPattern(pattern: unknown): boolean {
  try {
    return typeof pattern === "string" && new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** Errors that only say that a part is invalid; the part has its own. */
const OUTER = ["properties", "additionalProperties", "items", "allOf"];
/** Errors below a choice are not reported; the choice itself is. */
const BELOW_CHOICE = /\/(anyOf|oneOf|not)\//;

function problemOf(error: OutputUnit, root: Json, schema: JsonObject, at: string): FieldProblem[] {
  const { keyword, keywordLocation } = error;
  if (OUTER.includes(keyword) || BELOW_CHOICE.test(keywordLocation)) return [];
  const place = segmentsOf(error.instanceLocation);
  const field = place.reduce(pathTo, at);
  const value = valueAt(root, place);
  const limit = valueAt(schema, segmentsOf(keywordLocation));
  const bound = typeof limit === "string" ? limit : JSON.stringify(limit);
  if (keyword === "required") {
    const [, missing = ""] = /"(.*)"\.$/.exec(error.error) ?? [];
    return [required(pathTo(field, missing))];
  }
  if (keyword === "enum" && Array.isArray(limit)) return [unsupported(field, value, limit)];
  if (keyword === "type") {
    const types = textsOf({ types: Array.isArray(limit) ? limit : [limit] }, "types").filter((one) => one !== "null");
    const given = typeName(value);
    return [
      invalidField(field, given, `${field} in body must be of type ${types.join(",")}: ${JSON.stringify(given)}`),
    ];
  }
  const shown = Array.isArray(value) && keyword.endsWith("Items") ? value.length : value;
  return [invalidField(field, shown, wordsOf(keyword, bound, { field, value, schema, keywordLocation }))];
}

interface Subject {
  readonly field: string;
  readonly value: Json;
  readonly schema: JsonObject;
  readonly keywordLocation: string;
}

function wordsOf(keyword: string, bound: string, { field, value, schema, keywordLocation }: Subject): string {
  const excludes = (bound: string): boolean => {
    const place = segmentsOf(keywordLocation).slice(0, -1);
    return valueAt(schema, [...place, `exclusive${bound}`]) === true;
  };
  const words: Readonly<Record<string, string>> = {
    minimum: `in body should be greater than ${excludes("Minimum") ? "" : "or equal to "}${bound}`,
    maximum: `in body should be less than ${excludes("Maximum") ? "" : "or equal to "}${bound}`,
    multipleOf: `in body should be a multiple of ${bound}`,
    minLength: `in body should be at least ${bound} chars long`,
    maxLength: `in body should be at most ${bound} chars long`,
    pattern: `in body should match '${bound}'`,
    minItems: `in body should have at least ${bound} items`,
    maxItems: `in body should have at most ${bound} items`,
    minProperties: `in body should have at least ${bound} properties`,
    maxProperties: `in body should have at most ${bound} properties`,
    format: `in body must be of type ${bound}: ${JSON.stringify(value)}`,
    anyOf: "must validate at least one schema (anyOf)",
    oneOf: "must validate one and only one schema (oneOf)",
    not: "must not validate the schema (not)",
  };
  const isChoice = ["anyOf", "oneOf", "not"].includes(keyword);
  return `${isChoice ? JSON.stringify(field) : field} ${words[keyword] ?? `does not match ${keyword}`}`;
}

function segmentsOf(pointer: string): string[] {
  const segments = pointer.split("/").slice(1);
  return segments.map((segment) => decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~"));
}

function pathTo(parent: string, segment: string): string {
  if (/^\d+$/.test(segment)) return `${parent}[${segment}]`;
  return parent === "" ? segment : `${parent}.${segment}`;
}

function valueAt(root: Json, segments: readonly string[]): Json {
  let value: Json | undefined = root;
  for (const segment of segments) {
    if (Array.isArray(value)) value = value[Number(segment)];
    else value = isObject(value) ? value[segment] : undefined;
  }
  return value ?? null;
}

function typeName(value: Json): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
