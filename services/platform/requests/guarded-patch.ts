/**
 * Turns a patch bound to an object's resourceVersion into a JSON patch that tests only the fields the change depends
 * on. On a busy node the resourceVersion changes faster than a slow API server answers, so a patch bound to it would
 * always conflict. The API server applies the JSON patch to the current object if its tests hold.
 */
import type { KubeObject } from "../../../protocols/ports.ts";
import { type JsonRecord, listOf, recordOf } from "../../structures/json.ts";
import type { ConditionPatch, TaintBody } from "../kube/write/sent-bodies.ts";

/** A strategic merge patch of a node's taints, or of a node's or pod's conditions, bound to an object's version. */
export interface VersionedPatch {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
  /** The whole list; null for an empty one. */
  readonly spec?: { readonly taints: readonly TaintBody[] | null };
  readonly status?: { readonly conditions: readonly ConditionPatch[] };
}

/** What a change depends on beside the uid, the Ready status and the values that it replaces. */
export interface PatchBasis {
  /** Types of conditions that it depends on: each must have the same status since the same transition. */
  readonly conditions: readonly string[];
  /** The annotations that it depends on; one that was absent must still be absent. */
  readonly annotations: readonly string[];
}

const NO_MORE: PatchBasis = { conditions: [], annotations: [] };

/** One operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "test" | "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

const ANNOTATIONS = "/metadata/annotations";
const TAINTS = "/spec/taints";

/**
 * The JSON patch with the effect of a versioned one on the object that was read. It applies while uid, Ready status,
 * every replaced taint and condition and the basis are as they were read. Null when the object has no conditions yet to
 * test.
 */
export function guardedPatch(
  { metadata, spec, status }: VersionedPatch,
  live: KubeObject,
  basis: PatchBasis = NO_MORE,
): PatchOperation[] | null {
  const { conditions } = recordOf(live.status);
  if (!Array.isArray(conditions)) return null;
  const { annotations } = live.metadata;
  return [
    test("/metadata/uid", metadata.uid),
    ...sameCondition(conditions, "Ready", ["status"]),
    ...basis.conditions.flatMap((type) => sameCondition(conditions, type, ["status", "lastTransitionTime"])),
    ...sameAnnotations(basis.annotations, annotations),
    ...(spec === undefined ? [] : replacedTaints(spec.taints, recordOf(live.spec).taints)),
    ...(status === undefined ? [] : changedConditions(status.conditions, conditions)),
    ...changedAnnotations(metadata.annotations ?? {}, annotations),
  ];
}

/**
 * The JSON patch with the effect of a versioned one on a node's taints, or on a record about them. It applies while the
 * node has the version named, `before` is the whole list of its taints, and it has annotations if one changes.
 */
export function versionedTaintPatch({ metadata, spec }: VersionedPatch, before: readonly object[]): PatchOperation[] {
  const { uid, resourceVersion, annotations = {} } = metadata;
  const known = before.length === 0 ? null : before;
  return [
    test("/metadata/uid", uid),
    test("/metadata/resourceVersion", resourceVersion),
    ...(spec === undefined ? [test(TAINTS, known)] : replacedTaints(spec.taints, known)),
    ...Object.entries(annotations).map(([name, text]) => changedAnnotation(name, text)),
  ];
}

function sameCondition(conditions: readonly unknown[], type: string, fields: readonly string[]): PatchOperation[] {
  const index = indexOf(conditions, type);
  if (index < 0) return [test("/status/conditions", conditions)];
  const path = `/status/conditions/${index}`;
  const before = recordOf(conditions[index]);
  return ["type", ...fields].map((field) => test(`${path}/${field}`, before[field] ?? null));
}

function sameAnnotations(names: readonly string[], before: unknown): PatchOperation[] {
  if (before === undefined || before === null) return names.length === 0 ? [] : [test(ANNOTATIONS, null)];
  const existing = recordOf(before);
  return names.map((name) => test(annotationPath(name), existing[name] ?? null));
}

function replacedTaints(taints: readonly object[] | null, before: unknown): PatchOperation[] {
  const change: PatchOperation =
    taints === null ? { op: "remove", path: TAINTS } : { op: "add", path: TAINTS, value: taints };
  return [test(TAINTS, before ?? null), change];
}

/** Adds a condition that the object lacks only while its whole list is as it was read. */
function changedConditions(changes: readonly ConditionPatch[], conditions: readonly unknown[]): PatchOperation[] {
  const isComplete = changes.every(({ type }) => indexOf(conditions, type) >= 0);
  const guard = isComplete ? [] : [test("/status/conditions", conditions)];
  const operations = changes.flatMap((change): PatchOperation[] => {
    const index = indexOf(conditions, change.type);
    if (index < 0) return [{ op: "add", path: "/status/conditions/-", value: change }];
    const path = `/status/conditions/${index}`;
    const before = recordOf(conditions[index]);
    return [test(path, before), { op: "replace", path, value: { ...before, ...change } }];
  });
  return [...guard, ...operations];
}

function changedAnnotations(changes: Readonly<Record<string, string | null>>, before: unknown): PatchOperation[] {
  const entries = Object.entries(changes);
  if (before === undefined || before === null) {
    const value = Object.fromEntries(entries.filter(([, text]) => text !== null));
    return Object.keys(value).length === 0 ? [] : [test(ANNOTATIONS, null), { op: "add", path: ANNOTATIONS, value }];
  }
  const existing: JsonRecord = recordOf(before);
  return entries
    .filter(([name, text]) => text !== null || existing[name] !== undefined)
    .map(([name, text]) => changedAnnotation(name, text));
}

function changedAnnotation(name: string, text: string | null): PatchOperation {
  const path = annotationPath(name);
  return text === null ? { op: "remove", path } : { op: "add", path, value: text };
}

function annotationPath(name: string): string {
  return `${ANNOTATIONS}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function indexOf(conditions: readonly unknown[], type: string): number {
  return listOf(conditions).findIndex((condition) => recordOf(condition).type === type);
}

function test(path: string, value: unknown): PatchOperation {
  return { op: "test", path, value };
}
