/** Builds the strategic merge patch from one Node to another (R9.25, R9.26). */
import { isDeepStrictEqual } from "node:util";
import type { NodeObject } from "./node-object.ts";

type Fields = { readonly [field: string]: unknown };
type Entry = { readonly type: string } & Fields;

/** Lists of a Node that the API merges by `type`; it replaces all others as a whole. */
const MERGED_LISTS: readonly string[] = ["status.conditions", "status.addresses"];

/**
 * The patch for nodes/{name}/status from `before` to `after`, without spec and resourceVersion; null if nothing
 * changes. Changed addresses are sent as a whole with `$patch: replace`, because a merge by type confuses several of
 * one type.
 */
export function statusPatch(before: NodeObject, after: NodeObject): Fields | null {
  const addressesBefore = before.status?.addresses ?? [];
  const addresses = after.status?.addresses ?? [];
  const replaced = addressesBefore.length > 0 && !isDeepStrictEqual(addressesBefore, addresses);
  const compared: NodeObject = replaced ? { ...after, status: { ...after.status, addresses: addressesBefore } } : after;
  const difference = differenceOf(partsOf(before), partsOf(compared), "");
  if (!replaced) return Object.keys(difference).length === 0 ? null : difference;
  const whole = [...addresses, { $patch: "replace" }];
  return { ...difference, status: { ...(difference.status as Fields | undefined), addresses: whole } };
}

function partsOf(node: NodeObject): Fields {
  const { resourceVersion: _, ...metadata } = node.metadata;
  return { metadata, status: node.status ?? {} };
}

function differenceOf(before: Fields, after: Fields, path: string): Fields {
  const difference: Record<string, unknown> = {};
  for (const field of Object.keys(before)) if (after[field] === undefined) difference[field] = null;
  for (const [field, wanted] of Object.entries(after)) {
    const present = before[field];
    if (wanted === undefined || isDeepStrictEqual(present, wanted)) continue;
    const where = path === "" ? field : `${path}.${field}`;
    if (MERGED_LISTS.includes(where)) {
      Object.assign(difference, listDifference(field, (present ?? []) as Entry[], wanted as Entry[]));
    } else {
      difference[field] = isFields(wanted) && isFields(present) ? differenceOf(present, wanted, where) : wanted;
    }
  }
  return difference;
}

/** The changed fields of changed entries, deletions of missing ones, and the order of all. */
function listDifference(field: string, before: readonly Entry[], after: readonly Entry[]): Fields {
  const known = new Map(before.map((entry) => [entry.type, entry]));
  const kept = new Set(after.map(({ type }) => type));
  const changed = after.flatMap((entry) => {
    const difference = differenceOf(known.get(entry.type) ?? {}, entry, "");
    return Object.keys(difference).length === 0 ? [] : [{ ...difference, type: entry.type }];
  });
  const removed = before.filter(({ type }) => !kept.has(type)).map(({ type }) => ({ $patch: "delete", type }));
  return {
    [`$setElementOrder/${field}`]: after.map(({ type }) => ({ type })),
    [field]: [...changed, ...removed],
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
