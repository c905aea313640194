/** Label selectors as objects contain them, with matchLabels and matchExpressions. Pure. */
import { type ApiObject, childList, childObject, isObject, type Json, textOf } from "../api-objects.ts";
import type { Requirement, Selector, Values } from "./selectors.ts";

const OPERATORS: Readonly<Record<string, Requirement["operator"]>> = {
  In: "in",
  NotIn: "notIn",
  Exists: "exists",
  DoesNotExist: "absent",
};

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
    const operator = OPERATORS[textOf(expression, "operator")];
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
