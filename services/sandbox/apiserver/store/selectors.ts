/**
 * Label and field selectors: from the text of a query to a test of an object. fields.ts has the fields of each kind.
 */
import type { LabelRequirement } from "../../../../protocols/policy-set.ts";
import { badRequest } from "../api-status.ts";

/** The values that a selector tests, by label or field name. */
export type Values = Readonly<Record<string, string>>;

/** All terms of a selector; an empty list selects everything. */
export type Selector = readonly LabelRequirement[];

const SET_TERM = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/;
const COMPARED_TERM = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!,]*)$/;
const KEY = /^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?\/)?[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$/;

/** Parses a labelSelector such as `a=b,c!=d,e in (f,g),!h`. Throws a 400. */
export function labelSelector(text: string): Selector {
  return terms(text).map((term) => labelRequirement(term, text));
}

function labelRequirement(term: string, whole: string): LabelRequirement {
  const set = SET_TERM.exec(term);
  if (set !== null) {
    const [, key = "", word = "", list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return checked({ key, operator: word === "in" ? "In" : "NotIn", values }, whole);
  }
  const compared = COMPARED_TERM.exec(term);
  if (compared !== null) {
    const [, key = "", sign = "", value = ""] = compared;
    return checked({ key, operator: sign === "!=" ? "NotIn" : "In", values: [value] }, whole);
  }
  if (term.startsWith("!")) return checked({ key: term.slice(1).trim(), operator: "DoesNotExist", values: [] }, whole);
  return checked({ key: term, operator: "Exists", values: [] }, whole);
}

function checked(requirement: LabelRequirement, whole: string): LabelRequirement {
  if (!KEY.test(requirement.key)) {
    throw badRequest(`unable to parse requirement: ${JSON.stringify(requirement.key)} in ${JSON.stringify(whole)}`);
  }
  return requirement;
}

function terms(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== "");
}

/** Parses a fieldSelector such as `spec.nodeName=n,status.phase!=Failed`. Throws a 400. */
export function fieldSelector(text: string): Selector {
  return terms(text).map((term) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(term);
    if (match === null) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    const [, key = "", sign = "", value = ""] = match;
    return { key, operator: sign === "!=" ? "NotIn" : "In", values: [unescaped(value)] };
  });
}

function unescaped(value: string): string {
  return value.replace(/\\([\\,=])/g, "$1");
}

/** The single value that a selector requires of a key; null if there is none. */
export function demanded(selector: Selector, key: string): string | null {
  const term = selector.find((requirement) => requirement.key === key && requirement.operator === "In");
  return term?.values.length === 1 ? (term.values[0] ?? null) : null;
}
