/** One column of kubectl's tables, what its cells have in common, and ages in their short form. Pure. */

import { epochMsOf } from "../../../domain/api-time.ts";
import type { ApiObject, Json } from "../api-objects.ts";

/** One column; `-o wide` alone shows priority 1. */
export interface Column {
  readonly name: string;
  /** `string`, `integer`, `number`, `boolean` or `date`. */
  readonly type: string;
  readonly priority: number;
  readonly format?: string;
  readonly description?: string;
}

/** The columns of a kind and the cells of an object. */
export interface Columns {
  readonly columns: readonly Column[];
  cells(object: ApiObject, wallMs: number): Json[];
}

/** A column of `kubectl get`. */
export const column = (name: string): Column => ({ name, type: "string", priority: 0 });
/** A column that `-o wide` alone shows. */
export const wide = (name: string): Column => ({ name, type: "string", priority: 1 });
/** A column of numbers. */
export const count = (name: string): Column => ({ name, type: "integer", priority: 0 });

/** The text of an empty cell. */
export const NONE = "<none>";
/** The text of a cell whose value is unknown. */
export const UNKNOWN = "<unknown>";

/** The age of an object. */
export function age(object: ApiObject, wallMs: number): string {
  return ageOf(object.metadata.creationTimestamp, wallMs);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** The units of an age, the age up to which both are shown, and the age up to which the step applies. */
const STEPS = [
  { unit: MINUTE, mark: "m", rest: SECOND, restMark: "s", bothUpTo: 10 * MINUTE, wholeUpTo: 3 * HOUR },
  { unit: HOUR, mark: "h", rest: MINUTE, restMark: "m", bothUpTo: 8 * HOUR, wholeUpTo: 2 * DAY },
  { unit: DAY, mark: "d", rest: HOUR, restMark: "h", bothUpTo: 8 * DAY, wholeUpTo: 2 * YEAR },
  { unit: YEAR, mark: "y", rest: DAY, restMark: "d", bothUpTo: 8 * YEAR, wholeUpTo: Number.POSITIVE_INFINITY },
] as const;

/** A duration as `5s`, `3m20s`, `4h`, `2d3h` or `1y12d`. */
export function durationWords(durationMs: number): string {
  if (durationMs <= -2 * SECOND) return "<invalid>";
  if (durationMs < 2 * MINUTE) return `${Math.max(0, Math.trunc(durationMs / SECOND))}s`;
  const step = STEPS.find(({ wholeUpTo }) => durationMs < wholeUpTo) ?? STEPS[3];
  const whole = Math.floor(durationMs / step.unit);
  const rest = Math.floor((durationMs % step.unit) / step.rest);
  return durationMs < step.bothUpTo && rest > 0
    ? `${whole}${step.mark}${rest}${step.restMark}`
    : `${whole}${step.mark}`;
}

/** The time since an API timestamp; `<unknown>` without one. */
export function ageOf(instant: Json | undefined, wallMs: number): string {
  const at = typeof instant === "string" ? epochMsOf(instant) : null;
  return at === null ? "<unknown>" : durationWords(wallMs - at);
}
