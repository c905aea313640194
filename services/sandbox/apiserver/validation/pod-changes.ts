/** Validation of updates of a pod, as causes of a 422. */
import { type ApiObject, childList, childObject, type JsonObject, sameJson } from "../api-objects.ts";
import { type FieldProblem, forbiddenValue } from "./problems.ts";

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
