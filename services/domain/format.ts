/** Formats durations, numbers, lists and objects for people. */
import type { Subject } from "../../protocols/ledger-reader.ts";
import { formatDuration } from "./duration.ts";
import { zoneTitleOf } from "./zone-key.ts";

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
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
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
export function objectText({ kind, namespace, name }: Subject): string {
  const title = kind === "Zone" ? zoneTitleOf(name) : name;
  return `${kind.toLowerCase()} ${namespace === "" ? title : `${namespace}/${title}`}`;
}
