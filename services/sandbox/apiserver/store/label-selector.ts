/** Label selectors as objects contain them, with matchLabels and matchExpressions. Pure. */
import type { LabelRequirement } from "../../../../protocols/policy-set.ts";
import { type ApiObject, childList, childObject, isObject, type Json, textOf } from "../api-objects.ts";
import type { Requirement, Selector, Values } from "./selectors.ts";

/** What each operator of a matchExpression is in a selector. */
const OPERATORS: ReadonlyMap<string, Requirement["operator"]> = new Map(
  Object.entries({
    In: "in",
    NotIn: "notIn",
    Exists: "exists",
    DoesNotExist: "absent",
  } as const satisfies Record<LabelRequirement["operator"], Requirement["operator"]>),
);

/** A term that no labels satisfy. */
const NOTHING: Requirement = { key: "", operator: "in", values: [] };

/** The selector in a field; without one it selects nothing, and an empty one selects everything. */
export function selectorIn(selector: Json | undefined): Selector {
  if (!isObject(selector)) return [NOTHING];
  const equal = Object.entries(childObject(selector, "matchLabels")).map(
    ([key, value]): Requirement => ({ key, operator: "in", values: [typeof value === "string" ? value : ""] }),
  );
  const expressions = childList(selector, "matchExpressions").map((expression): Requirement => {
    const { values } = expression;
    const operator = OPERATORS.get(textOf(expression, "operator"));
    if (operator === undefined) return NOTHING;
    const texts = Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
    return { key: textOf(expression, "key"), operator, values: texts };
  });
  return [...equal, ...expressions];
}

/** The labels of an object. */
export function labelsOf({ metadata }: ApiObject): Values {
  return childObject(metadata, "labels") as Values;
}
