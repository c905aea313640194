/** Validation of a pod's tolerations and of its updates, as causes of a 422 with the real server's messages. */

import { type ApiObject, childList, childObject, type JsonObject, sameJson, textOf } from "../api-objects.ts";
import { labelValueProblems, qualifiedNameProblems } from "./object-names.ts";
import { type FieldProblem, forbiddenValue, invalidField, unsupported } from "./problems.ts";

/** The effects of taints and tolerations. */
export const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** The problems of the toleration at a field path. */
export function tolerationProblems(toleration: JsonObject, at: string): FieldProblem[] {
  const [key, operator] = [textOf(toleration, "key"), textOf(toleration, "operator")];
  const effect = textOf(toleration, "effect");
  const timed = typeof toleration.tolerationSeconds === "number";
  const all = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  return [
    ...(key === "" ? [] : qualifiedNameProblems(key).map((why) => invalidField(`${at}.key`, key, why))),
    ...(key === "" && operator !== "Exists" ? [invalidField(`${at}.operator`, operator, all)] : []),
    ...(timed && effect !== "NoExecute"
      ? [invalidField(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
      : []),
    ...operatorProblems(toleration, operator, `${at}.operator`),
    ...(effect === "" || TAINT_EFFECTS.includes(effect) ? [] : [unsupported(`${at}.effect`, effect, TAINT_EFFECTS)]),
  ];
}

function operatorProblems(toleration: JsonObject, operator: string, at: string): FieldProblem[] {
  const value = textOf(toleration, "value");
  if (operator === "" || operator === "Equal")
    return labelValueProblems(value).map((why) => invalidField(at, value, why));
  if (operator !== "Exists") return [unsupported(at, operator, ["Equal", "Exists"])];
  return value === "" ? [] : [invalidField(at, toleration, "value must be empty when `operator` is 'Exists'")];
}

/** Fields of a pod's spec that may change. Of containers only the images may, and tolerations may only be added. */
const FREE_IN_POD_SPEC = ["tolerations", "activeDeadlineSeconds", "containers", "initContainers"];

/** The problems of a change from `before`. */
export function podChangeProblems(object: ApiObject, before: ApiObject): FieldProblem[] {
  const was = childObject(before, "spec");
  const is = childObject(object, "spec");
  const kept = childList(was, "tolerations").every((toleration) =>
    childList(is, "tolerations").some((other) => sameJson(withoutSeconds(other), withoutSeconds(toleration))),
  );
  const lost = kept
    ? []
    : [forbiddenValue("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
  const fields = new Set([...Object.keys(was), ...Object.keys(is)]);
  const fixed = [...fields].filter((field) => !FREE_IN_POD_SPEC.includes(field) && !sameJson(was[field], is[field]));
  const names = (spec: JsonObject): JsonObject[] => childList(spec, "containers").map(({ name = "" }) => ({ name }));
  if (!sameJson(names(was), names(is))) {
    return [forbiddenValue("spec.containers", "pod updates may not add or remove containers")];
  }
  const containers = ["containers", "initContainers"].some(
    (field) => !sameJson(withoutImages(was, field), withoutImages(is, field)),
  );
  if (fixed.length === 0 && !containers) return lost;
  const why =
    "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, " +
    "`spec.activeDeadlineSeconds` or `spec.tolerations` (only additions to existing tolerations)";
  return [...lost, forbiddenValue("spec", why)];
}

function withoutSeconds({ tolerationSeconds: _seconds, ...toleration }: JsonObject): JsonObject {
  return toleration;
}

function withoutImages(spec: JsonObject, field: string): JsonObject[] {
  return childList(spec, field).map(({ image: _image, ...container }) => container);
}
