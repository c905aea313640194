/** Formats durations, numbers, lists and objects for people, and texts with the places of object names. */
import type { ExplainedObject, NameInText, Subject } from "../../protocols/ledger-reader.ts";
import { NODE_POLICY_API } from "../../protocols/node-policy.ts";
import { formatDuration } from "./duration.ts";
import { zoneTitleOf } from "./zone-key.ts";

/** A text with the places of the object names in it, so that no reader has to guess. */
export interface NamedText {
  readonly text: string;
  readonly names: readonly NameInText[];
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A duration in the largest unit that loses little: `120 ms`, `50 s`, `5 min`, `3 h`. */
export function spanText(spanMs: number): string {
  const ms = Math.max(0, Math.round(spanMs));
  if (ms < SECOND) return `${ms} ms`;
  if (ms < 2 * MINUTE) return `${Number((ms / SECOND).toFixed(ms < 10 * SECOND ? 1 : 0))} s`;
  return ms < 2 * HOUR ? `${Math.round(ms / MINUTE)} min` : `${Math.round(ms / HOUR)} h`;
}

/** What is left of a countdown, in whole seconds: `3m12s`. */
export function countdownText(remainingMs: number): string {
  return formatDuration(Math.ceil(remainingMs / SECOND) * SECOND);
}

/** A list as English: `a`, `a and b`, `a, b and c`. */
export function listText(words: readonly string[]): string {
  return namedList(words).text;
}

/** A count with its noun, in the singular for one. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A float32 as it was set: `0.1`, not `0.10000000149`. */
export function asSet(value: number): number {
  return Number(value.toPrecision(6));
}

/** An eviction rate in nodes per second, a float32, worded as operators set it. */
export function rateText(perSecond: number): string {
  if (perSecond <= 0) return "no node at all";
  if (perSecond < 1) return `one node every ${spanText(SECOND / perSecond)}`;
  return `${countText(asSet(perSecond), "node")} per second`;
}

/** An object: `node worker-7`, `pod shop/cart-0`, `zone eu-west-1/eu-west-1b`. */
export function objectText(object: Subject): string {
  return `${object.kind.toLowerCase()} ${nameText(object.kind, object.name, object.namespace).text}`;
}

/** The name of an object as people write it: `worker-7`, `shop/cart-0`, `eu-west-1/eu-west-1b`. */
export function nameText(kind: ExplainedObject["kind"], name: string, namespace = ""): NamedText {
  const title = kind === "Zone" ? zoneTitleOf(name) : name;
  const text = namespace === "" ? title : `${namespace}/${title}`;
  return { text, names: [{ from: 0, to: text.length, kind, namespace, name }] };
}

/** A policy with its kind: `NodePolicy gpu`. */
export function policyText(policy: string): NamedText {
  return named`${NODE_POLICY_API.kind} ${nameText("NodePolicy", policy)}`;
}

/** Fills a template with texts, and keeps the names in them. */
export function named(parts: readonly string[], ...values: readonly (string | NamedText)[]): NamedText {
  let text = parts[0] ?? "";
  const names: NameInText[] = [];
  for (const [index, value] of values.entries()) {
    const filled = typeof value === "string" ? { text: value, names: NO_NAMES } : value;
    for (const name of filled.names) names.push({ ...name, from: text.length + name.from, to: text.length + name.to });
    text += `${filled.text}${parts[index + 1] ?? ""}`;
  }
  return { text, names: names.length === 0 ? NO_NAMES : names };
}

/** A list as English, like `listText`, with the names in it. */
export function namedList(words: readonly (string | NamedText)[]): NamedText {
  const between = words.slice(1).map((_word, index) => (index === words.length - 2 ? " and " : ", "));
  return named(["", ...between, ""], ...words);
}

/** Shared by every text without a name, because most have none. */
const NO_NAMES: readonly NameInText[] = [];
