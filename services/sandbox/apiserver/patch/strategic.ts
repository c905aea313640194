/**
 * Strategic merge patch: lists of objects merge by key, and directives order, delete or replace. Pure; the caller gives
 * the rules.
 */
import { isObject, type Json, type JsonObject, sameJson } from "../api-objects.ts";
import type { MergeRule, MergeRules } from "./schema.ts";

/** An invalid patch; the response contains the message. */
export class UnusablePatch extends Error {}

const ORDER = "$setElementOrder/";
const PRIMITIVES = "$deleteFromPrimitiveList/";
const NO_RULE: MergeRule = {};

/** The object after the patch. Neither argument is changed; the result may share parts of both. */
export function strategicMerge(object: JsonObject, patch: JsonObject, rules: MergeRules): JsonObject {
  const directive = patch.$patch;
  if (directive === "replace") return withoutDirectives(patch);
  if (directive === "delete") return {};
  if (directive !== undefined && directive !== "merge") {
    throw new UnusablePatch(`unknown patch type: ${JSON.stringify(directive)}`);
  }
  const merged = retained(object, patch.$retainKeys);
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith("$")) continue;
    mergeField(merged, field, value, rules[field] ?? NO_RULE, patch);
  }
  applyLoneDirectives(merged, patch, rules);
  return merged;
}

function mergeField(merged: JsonObject, field: string, value: Json, rule: MergeRule, patch: JsonObject): void {
  if (value === null) {
    delete merged[field];
    return;
  }
  const present = merged[field];
  if (isObject(value)) {
    merged[field] = strategicMerge(isObject(present) ? present : {}, value, rule.fields ?? {});
  } else if (Array.isArray(value)) {
    // If the object has no list, the patch's list is used as it is, even with duplicate keys, as upstream does.
    const isThere = Array.isArray(present) && present.length > 0;
    merged[field] = isThere ? mergeList(present, value, rule, directivesOf(patch, field)) : plainList(value);
  } else {
    merged[field] = value;
  }
}

interface ListDirectives {
  /** Null without an order. */
  readonly order: readonly Json[] | null;
  readonly removed: readonly Json[];
}

function directivesOf(patch: JsonObject, field: string): ListDirectives {
  const order = patch[ORDER + field];
  const removed = patch[PRIMITIVES + field];
  return {
    order: Array.isArray(order) && order.length > 0 ? order : null,
    removed: Array.isArray(removed) ? removed : [],
  };
}

/** Order and deletion directives may come without their list. */
function applyLoneDirectives(merged: JsonObject, patch: JsonObject, rules: MergeRules): void {
  for (const directive of Object.keys(patch)) {
    const prefix = [ORDER, PRIMITIVES].find((start) => directive.startsWith(start));
    if (prefix === undefined) continue;
    const field = directive.slice(prefix.length);
    const present = merged[field];
    if (Object.hasOwn(patch, field) || !Array.isArray(present)) continue;
    merged[field] = mergeList(present, [], rules[field] ?? NO_RULE, directivesOf(patch, field));
  }
}

function mergeList(present: readonly Json[], value: readonly Json[], rule: MergeRule, how: ListDirectives): Json[] {
  checkOrder(value, how.order, rule.mergeKey ?? null);
  if (rule.mergeKey !== undefined) return mergeObjects(present, value, rule, rule.mergeKey, how.order);
  if (rule.set !== true) return [...value];
  const kept = present.filter((item) => !how.removed.includes(item));
  const united = [...kept, ...value.filter((item) => !kept.includes(item))];
  return ordered(united, present, how.order ?? value, (item) => item);
}

/** The items of a patch must be in the order that it names. */
function checkOrder(value: readonly Json[], order: readonly Json[] | null, mergeKey: string | null): void {
  if (order === null) return;
  const keyOf = (item: Json | undefined): Json | undefined =>
    mergeKey !== null && isObject(item) ? item[mergeKey] : item;
  let next = 0;
  for (const item of value) {
    if (isObject(item) && item.$patch !== undefined) continue;
    while (next < order.length && !sameJson(keyOf(order[next]), keyOf(item))) next += 1;
    if (next === order.length) {
      const lists = `${JSON.stringify(value)}\n doesn't match $setElementOrder list:\n${JSON.stringify(order)}`;
      throw new UnusablePatch(`The order in patch list:\n${lists}\n`);
    }
  }
}

function mergeObjects(
  present: readonly Json[],
  value: readonly Json[],
  rule: MergeRule,
  mergeKey: string,
  order: readonly Json[] | null,
): Json[] {
  const items = value.map((item) => objectWithKey(item, mergeKey));
  const changes = items.filter((item) => item.$patch !== "replace" && item.$patch !== "delete");
  if (items.some((item) => item.$patch === "replace")) {
    return changes.map(withoutDirectives);
  }
  const deleted = items.filter((item) => item.$patch === "delete");
  const keyOf = (item: Json | undefined): Json => (isObject(item) ? (item[mergeKey] ?? null) : null);
  const result: Json[] = present.filter((item) => !deleted.some((gone) => sameJson(keyOf(gone), keyOf(item))));
  for (const change of changes) {
    const index = result.findIndex((item) => sameJson(keyOf(item), keyOf(change)));
    const before = result[index];
    if (isObject(before)) result[index] = strategicMerge(before, change, rule.fields ?? {});
    else result.push(strategicMerge({}, change, rule.fields ?? {}));
  }
  return ordered(result, present, (order ?? changes).map(keyOf), keyOf);
}

function objectWithKey(item: Json, mergeKey: string): JsonObject {
  if (!isObject(item)) throw new UnusablePatch("list element types are not identical");
  if (item.$patch === "merge") throw new UnusablePatch("merging lists cannot yet be specified in the patch");
  if (item.$patch !== undefined && item.$patch !== "replace" && item.$patch !== "delete") {
    throw new UnusablePatch(`unknown patch type: ${JSON.stringify(item.$patch)}`);
  }
  if (item.$patch !== "replace" && item[mergeKey] === undefined) {
    throw new UnusablePatch(`map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`);
  }
  return item;
}

/**
 * The items in the order of the patch, given by a directive or by its own items. An item that the patch does not name
 * stays behind the nearest one that preceded it.
 */
function ordered(
  items: readonly Json[],
  present: readonly Json[],
  order: readonly Json[],
  keyOf: (item: Json) => Json,
): Json[] {
  const placeOf = (item: Json): number => order.findIndex((key) => sameJson(key, keyOf(item)));
  const named = items.filter((item) => placeOf(item) >= 0).sort((left, right) => placeOf(left) - placeOf(right));
  const own = items.filter((item) => placeOf(item) < 0);
  const before = (item: Json): number => present.findIndex((other) => sameJson(keyOf(other), keyOf(item)));
  const result: Json[] = [];
  let next = 0;
  for (const item of named) {
    const place = before(item);
    while (next < own.length && place >= 0 && before(own[next] ?? null) < place) {
      result.push(own[next] ?? null);
      next += 1;
    }
    result.push(item);
  }
  return [...result, ...own.slice(next)];
}

function retained(object: JsonObject, keys: Json | undefined): JsonObject {
  if (!Array.isArray(keys)) return { ...object };
  return Object.fromEntries(Object.entries(object).filter(([field]) => keys.includes(field)));
}

/** A patch without its directives, which must not be stored. */
function withoutDirectives(patch: JsonObject): JsonObject {
  const plain: JsonObject = {};
  for (const [field, value] of Object.entries(patch)) {
    if (!field.startsWith("$") && value !== null) plain[field] = plainValue(value);
  }
  return plain;
}

function plainValue(value: Json): Json {
  if (Array.isArray(value)) return plainList(value);
  return isObject(value) ? withoutDirectives(value) : value;
}

function plainList(list: readonly Json[]): Json[] {
  return list.filter((item) => !isObject(item) || item.$patch === undefined).map(plainValue);
}
