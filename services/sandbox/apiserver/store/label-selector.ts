/** Label selectors as objects contain them, with matchLabels and matchExpressions. Pure. */
import type { LabelRequirement } from "../../../../protocols/policy-set.ts";
import { type ApiObject, childList, childObject, isObject, type Json, textOf } from "../api-objects.ts";
import type { Selector, Values } from "./selectors.ts";

const OPERATORS: Readonly<Record<LabelRequirement["operator"], true>> = {
  In: true,
  NotIn: true,
  Exists: true,
  DoesNotExist: true,
};

/** A term that no labels satisfy. */
const NOTHING: LabelRequirement = { key: "", operator: "In", values: [] };

/** The selector in a field; without one it selects nothing, and an empty one selects everything. */
export function selectorIn(selector: Json | undefined): Selector {
  if (!isObject(selector)) return [NOTHING];
  const equal = Object.entries(childObject(selector, "matchLabels")).map(
    ([key, value]): LabelRequirement => ({ key, operator: "In", values: [typeof value === "string" ? value : ""] }),
  );
  const expressions = childList(selector, "matchExpressions").map((expression): LabelRequirement => {
    const { values } = expression;
    const operator = textOf(expression, "operator");
    if (!isOperator(operator)) return NOTHING;
    const texts = Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
    return { key: textOf(expression, "key"), operator, values: texts };
  });
  return [...equal, ...expressions];
}

function isOperator(text: string): text is LabelRequirement["operator"] {
  return Object.hasOwn(OPERATORS, text);
}

/** The labels of an object. */
export function labelsOf({ metadata }: ApiObject): Values {
  return childObject(metadata, "labels") as Values;
}
