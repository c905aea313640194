/** What an update may not change of an object that is there, as causes of a 422. It changes nothing. */
import { type ApiObject, childList, childObject, type Json, type JsonObject, sameJson } from "../api-objects.ts";
import type { StorageName } from "../resources.ts";
import { type FieldProblem, forbiddenChange } from "./problems.ts";

/** Fields of a node's spec that may change; the rest may at most be given once. */
const FREE_IN_NODE_SPEC = ["taints", "unschedulable", "configSource"];

function nodeChanges(object: ApiObject, before: ApiObject): FieldProblem[] {
  const was = childObject(before, "spec");
  const is = childObject(object, "spec");
  const fields = new Set([...Object.keys(was), ...Object.keys(is)]);
  const changed = [...fields].filter(
    (field) => !FREE_IN_NODE_SPEC.includes(field) && was[field] !== undefined && !sameJson(was[field], is[field]),
  );
  if (changed.length === 0) return [];
  const ranges = 'node updates may not change podCIDR except from "" to valid';
  const all =
    "node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature " +
    "gate is enabled)";
  return [
    ...(changed.includes("podCIDRs") ? [forbiddenChange("spec.podCIDRs", ranges)] : []),
    forbiddenChange("[]", all),
  ];
}

/** Fields of a pod's spec that may change freely; images may too, and tolerations may only be added. */
const FREE_IN_POD_SPEC = ["tolerations", "activeDeadlineSeconds", "containers", "initContainers"];

function podChanges(object: ApiObject, before: ApiObject): FieldProblem[] {
  const was = childObject(before, "spec");
  const is = childObject(object, "spec");
  const kept = childList(was, "tolerations").every((toleration) =>
    childList(is, "tolerations").some((other) => sameJson(withoutSeconds(other), withoutSeconds(toleration))),
  );
  const lost = kept
    ? []
    : [forbiddenChange("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
  const fields = new Set([...Object.keys(was), ...Object.keys(is)]);
  const fixed = [...fields].filter((field) => !FREE_IN_POD_SPEC.includes(field) && !sameJson(was[field], is[field]));
  const names = (spec: JsonObject): JsonObject[] => childList(spec, "containers").map(({ name = "" }) => ({ name }));
  if (!sameJson(names(was), names(is))) {
    return [forbiddenChange("spec.containers", "pod updates may not add or remove containers")];
  }
  const containers = ["containers", "initContainers"].some(
    (field) => !sameJson(withoutImages(was, field), withoutImages(is, field)),
  );
  if (fixed.length === 0 && !containers) return lost;
  const why =
    "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, " +
    "`spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)";
  return [...lost, forbiddenChange("spec", why)];
}

function withoutSeconds({ tolerationSeconds: _seconds, ...toleration }: JsonObject): JsonObject {
  return toleration;
}

function withoutImages(spec: JsonObject, field: string): JsonObject[] {
  return childList(spec, field).map(({ image: _image, ...container }) => container);
}

const OF_KIND: Readonly<Partial<Record<StorageName, (object: ApiObject, before: ApiObject) => FieldProblem[]>>> = {
  nodes: nodeChanges,
  pods: podChanges,
};

/** What is being deleted cannot be held by one more. Upstream tells it twice. */
function finalizerChanges(object: ApiObject, before: ApiObject): FieldProblem[] {
  const held = finalizersOf(before);
  const added = finalizersOf(object).filter((finalizer) => !held.includes(finalizer));
  if (before.metadata.deletionTimestamp === undefined || added.length === 0) return [];
  const list = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(", ")}}`;
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
  const problem = forbiddenChange("metadata.finalizers", why);
  return [problem, problem];
}

function finalizersOf({ metadata }: ApiObject): Json[] {
  return Array.isArray(metadata.finalizers) ? metadata.finalizers : [];
}

/** Everything that is wrong with a change. */
export function updateProblems(storage: StorageName, object: ApiObject, before: ApiObject): FieldProblem[] {
  return [...finalizerChanges(object, before), ...(OF_KIND[storage]?.(object, before) ?? [])];
}
