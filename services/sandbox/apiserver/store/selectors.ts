/**
 * Label and field selectors: from the text of a query to a test of an object. fields.ts has the fields of each kind.
 */
import { badRequest } from "../api-status.ts";

/** The values that a selector tests, by label or field name. */
export type Values = Readonly<Record<string, string>>;

/** One term of a selector. */
export interface Requirement {
  readonly key: string;
  readonly operator: "in" | "notIn" | "exists" | "absent";
  readonly values: readonly string[];
}

/** All terms of a selector; an empty list selects everything. */
export type Selector = readonly Requirement[];

/** Whether values satisfy every term. An absent key satisfies `!=` and `notin`, as upstream. */
export function selects(selector: Selector, values: Values): boolean {
  return selector.every((requirement) => satisfies(requirement, values[requirement.key]));
}

/** Whether a value, or its absence, satisfies a term. */
export function satisfies({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case "in":
      return value !== undefined && values.includes(value);
    case "notIn":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "absent":
      return value === undefined;
  }
}

const SET_TERM = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/;
const COMPARED_TERM = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!,]*)$/;
const KEY = /^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?\/)?[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$/;

/** Parses a labelSelector such as `a=b,c!=d,e in (f,g),!h`. Throws a 400. */
export function labelSelector(text: string): Selector {
  return terms(text).map((term) => labelRequirement(term, text));
}

function labelRequirement(term: string, whole: string): Requirement {
  const set = SET_TERM.exec(term);
  if (set !== null) {
    const [, key = "", word = "", list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return checked({ key, operator: word === "in" ? "in" : "notIn", values }, whole);
  }
  const compared = COMPARED_TERM.exec(term);
  if (compared !== null) {
    const [, key = "", sign = "", value = ""] = compared;
    return checked({ key, operator: sign === "!=" ? "notIn" : "in", values: [value] }, whole);
  }
  if (term.startsWith("!")) return checked({ key: term.slice(1).trim(), operator: "absent", values: [] }, whole);
  return checked({ key: term, operator: "exists", values: [] }, whole);
}

function checked(requirement: Requirement, whole: string): Requirement {
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
    return { key, operator: sign === "!=" ? "notIn" : "in", values: [unescaped(value)] };
  });
}

function unescaped(value: string): string {
  return value.replace(/\\([\\,=])/g, "$1");
}

/** The single value that a selector requires of a key; null if there is none. */
export function demanded(selector: Selector, key: string): string | null {
  const term = selector.find((requirement) => requirement.key === key && requirement.operator === "in");
  return term?.values.length === 1 ? (term.values[0] ?? null) : null;
}
