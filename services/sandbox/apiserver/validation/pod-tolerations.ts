/** Validation of a pod's tolerations, with the real server's messages. */

import { type JsonObject, textOf } from "../api-objects.ts";
import { labelValueProblems, qualifiedNameProblems } from "./object-names.ts";
import { type FieldProblem, unsupported, wrong } from "./problems.ts";

/** The effects of taints and tolerations. */
export const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** The problems of the toleration at a field path. */
export function tolerationProblems(toleration: JsonObject, at: string): FieldProblem[] {
  const [key, operator] = [textOf(toleration, "key"), textOf(toleration, "operator")];
  const effect = textOf(toleration, "effect");
  const timed = typeof toleration.tolerationSeconds === "number";
  const all = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  return [
    ...(key === "" ? [] : qualifiedNameProblems(key).map((why) => wrong(`${at}.key`, key, why))),
    ...(key === "" && operator !== "Exists" ? [wrong(`${at}.operator`, operator, all)] : []),
    ...(timed && effect !== "NoExecute"
      ? [wrong(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
      : []),
    ...operatorProblems(toleration, operator, `${at}.operator`),
    ...(effect === "" || TAINT_EFFECTS.includes(effect) ? [] : [unsupported(`${at}.effect`, effect, TAINT_EFFECTS)]),
  ];
}

function operatorProblems(toleration: JsonObject, operator: string, at: string): FieldProblem[] {
  const value = textOf(toleration, "value");
  if (operator === "" || operator === "Equal") return labelValueProblems(value).map((why) => wrong(at, value, why));
  if (operator !== "Exists") return [unsupported(at, operator, ["Equal", "Exists"])];
  return value === "" ? [] : [wrong(at, toleration, "value must be empty when `operator` is 'Exists'")];
}
