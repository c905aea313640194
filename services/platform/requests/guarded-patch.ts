/**
 * Turns a patch that is bound to an object's resourceVersion into one that is bound to what the patch rests on. On a
 * busy object the resourceVersion changes faster than a slow API answers, for reasons that do not matter: a patch bound
 * to it would meet a conflict each time. A JSON patch can test single fields instead, and the API server applies it to
 * whatever the object is by then.
 */
import type { KubeObject } from "../../../protocols/ports.ts";
import { type JsonRecord, listOf, recordOf } from "../structures/json.ts";

/**
 * A strategic merge patch of a node's taints, or of a node's or pod's conditions, that names the version it rests on.
 */
export interface VersionedPatch {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
  /** The whole list; null for an empty one. */
  readonly spec?: { readonly taints: readonly object[] | null };
  readonly status?: { readonly conditions: readonly ConditionPatch[] };
}

/** What changes about the condition of one type. */
export interface ConditionPatch {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** One operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "test" | "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

const ANNOTATIONS = "/metadata/annotations";

/**
 * The JSON patch that changes what a versioned patch does of the object that was read, provided that the object is the
 * same by uid, its Ready condition has the same status, and whatever is replaced is as it was read. Null when the
 * object has no status yet to test.
 */
export function guardedPatch({ metadata, spec, status }: VersionedPatch, live: KubeObject): PatchOperation[] | null {
  const { conditions } = recordOf(live.status);
  if (!Array.isArray(conditions)) return null;
  return [
    test("/metadata/uid", metadata.uid),
    ...sameReady(conditions),
    ...(spec === undefined ? [] : replacedTaints(spec.taints, recordOf(live.spec).taints)),
    ...(status === undefined ? [] : changedConditions(status.conditions, conditions)),
    ...changedAnnotations(metadata.annotations ?? {}, live.metadata.annotations),
  ];
}

/**
 * The JSON patch that changes a node's taints as a versioned patch does, provided that the node is in the version named
 * and `before` is the whole list of its taints. An asker that names other taints than the node has changes nothing.
 */
export function versionedTaintPatch({ metadata, spec }: VersionedPatch, before: readonly object[]): PatchOperation[] {
  const { uid, resourceVersion, annotations = {} } = metadata;
  const taken = Object.entries(annotations).filter(([, text]) => text === null);
  return [
    test("/metadata/uid", uid),
    test("/metadata/resourceVersion", resourceVersion),
    ...(spec === undefined ? [] : replacedTaints(spec.taints, before.length === 0 ? null : before)),
    ...taken.map(([name]): PatchOperation => ({ op: "remove", path: annotationPath(name) })),
  ];
}

function sameReady(conditions: readonly unknown[]): PatchOperation[] {
  const index = indexOf(conditions, "Ready");
  if (index < 0) return [test("/status/conditions", conditions)];
  const path = `/status/conditions/${index}`;
  return [test(`${path}/type`, "Ready"), test(`${path}/status`, recordOf(conditions[index]).status)];
}

function replacedTaints(taints: readonly object[] | null, before: unknown): PatchOperation[] {
  const path = "/spec/taints";
  const change: PatchOperation = taints === null ? { op: "remove", path } : { op: "add", path, value: taints };
  return [test(path, before ?? null), change];
}

/** A condition that the object lacks is added only while its whole list is as it was read. */
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
  const path = ANNOTATIONS;
  if (before === undefined || before === null) {
    const value = Object.fromEntries(entries.filter(([, text]) => text !== null));
    return Object.keys(value).length === 0 ? [] : [test(path, null), { op: "add", path, value }];
  }
  const standing: JsonRecord = recordOf(before);
  return entries.flatMap(([name, value]): PatchOperation[] => {
    const own = annotationPath(name);
    if (value !== null) return [{ op: "add", path: own, value }];
    return standing[name] === undefined ? [] : [{ op: "remove", path: own }];
  });
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
