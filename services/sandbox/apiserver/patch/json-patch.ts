/** JSON merge patch (RFC 7386) and JSON patch (RFC 6902), which know nothing of kinds. Pure. */
import { isObject, type Json, type JsonObject, sameJson } from "../api-objects.ts";

/** An operation that does not fit the object; the response contains the message. */
export class InapplicablePatch extends Error {}

/** The object after a JSON merge patch. */
export function jsonMerge(object: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...object };
  for (const [field, value] of Object.entries(patch)) {
    const present = merged[field];
    if (value === null) delete merged[field];
    else merged[field] = isObject(value) ? jsonMerge(isObject(present) ? present : {}, value) : value;
  }
  return merged;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

/** The object after a JSON patch, whose operations apply one after the other. */
export function jsonPatch(object: JsonObject, operations: readonly Json[]): JsonObject {
  const root: JsonObject = { "": structuredClone(object) };
  for (const operation of operations) {
    if (!isOperation(operation)) throw new InapplicablePatch("an operation needs the texts op and path");
    apply(root, operation);
  }
  const result = root[""];
  if (!isObject(result)) throw new InapplicablePatch("the patched value is not an object");
  return result;
}

function isOperation(value: Json): value is JsonObject & Operation {
  return isObject(value) && typeof value.op === "string" && typeof value.path === "string";
}

function apply(root: JsonObject, operation: Operation): void {
  const { op, path } = operation;
  switch (op) {
    case "test":
      if (!sameJson(found(root, path) ?? null, operation.value ?? null)) {
        throw new InapplicablePatch(`testing value ${path} failed: test failed`);
      }
      return;
    case "add":
    case "replace":
      write(root, path, operation.value ?? null, op);
      return;
    case "remove":
      remove(root, path);
      return;
    case "move": {
      const moved = read(root, operation.from ?? "");
      remove(root, operation.from ?? "");
      write(root, path, moved, "add");
      return;
    }
    case "copy":
      write(root, path, structuredClone(read(root, operation.from ?? "")), "add");
      return;
    default:
      throw new InapplicablePatch(`Unexpected kind: ${op}`);
  }
}

/** The parent of the value at a pointer, and its last token. The document is in the empty field of the root. */
function locate(root: JsonObject, path: string): { parent: Json; last: string } {
  const tokens = path.split("/").map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = tokens.pop() ?? "";
  let parent: Json = root;
  for (const token of tokens) {
    const child: Json | undefined = childOf(parent, token);
    if (child === undefined) throw missing(path);
    parent = child;
  }
  return { parent, last };
}

function childOf(parent: Json, token: string): Json | undefined {
  if (Array.isArray(parent)) return parent[Number(token)];
  return isObject(parent) && Object.hasOwn(parent, token) ? parent[token] : undefined;
}

function missing(path: string): InapplicablePatch {
  return new InapplicablePatch(`doc is missing path: ${path}: missing value`);
}

/** The value at a pointer; undefined where the parent lacks it, which the real server treats as null in a test. */
function found(root: JsonObject, path: string): Json | undefined {
  const { parent, last } = locate(root, path);
  return childOf(parent, last);
}

function read(root: JsonObject, path: string): Json {
  const value = found(root, path);
  if (value === undefined) throw missing(path);
  return value;
}

function write(root: JsonObject, path: string, value: Json, how: "add" | "replace"): void {
  const { parent, last } = locate(root, path);
  if (Array.isArray(parent)) {
    const index = last === "-" ? parent.length : Number(last);
    if (!Number.isInteger(index) || index < 0 || index > parent.length) throw missing(path);
    if (how === "replace" && index >= parent.length) throw missing(path);
    parent.splice(index, how === "replace" ? 1 : 0, value);
  } else if (isObject(parent)) {
    parent[last] = value;
  } else {
    throw missing(path);
  }
}

function remove(root: JsonObject, path: string): void {
  read(root, path);
  const { parent, last } = locate(root, path);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (isObject(parent)) delete parent[last];
}
