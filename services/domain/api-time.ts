/** Converts between epoch milliseconds and the time formats of the Kubernetes API. It reads no clock. */
import { INSTANT_MAX, INSTANT_MIN } from "../../protocols/bounds.ts";

/** API times are truncated to whole seconds, so the real instant may be this much later, in milliseconds. */
export const API_TIME_STEP_MS = 1000;

/**
 * An instant as metav1.Time: whole seconds, cut off, in UTC. Never throws: an instant outside RFC 3339 becomes the
 * nearest one inside.
 */
export function apiTime(epochMs: number): string {
  return `${new Date(written(epochMs)).toISOString().slice(0, 19)}Z`;
}

/**
 * An instant as metav1.MicroTime: six digits after the second. `epochMs` carries microseconds as its fraction. Never
 * throws, like `apiTime`.
 */
export function apiMicroTime(instant: number): string {
  const epochMs = written(instant);
  const wholeMs = Math.floor(epochMs);
  // A double holds a present-day instant to a quarter of a microsecond, so rounding restores the original.
  const micros = Math.min(999, Math.round((epochMs - wholeMs) * 1000));
  return `${new Date(wholeMs).toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
}

/** An instant as a library takes it: whole seconds, cut off. Never throws, like `apiTime`. */
export function dateOf(epochMs: number): Date {
  return new Date(Math.floor(written(epochMs) / API_TIME_STEP_MS) * API_TIME_STEP_MS);
}

/** An instant as an HTTP `Date` header: whole seconds, cut off (RFC 9110, section 5.6.7). */
export function httpDate(epochMs: number): string {
  return new Date(epochMs).toUTCString();
}

/**
 * The instant of an API time, in epoch milliseconds with microseconds as the fraction; null when absent, unreadable or
 * after the year 9999.
 */
export function epochMsOf(time: string | null | undefined): number | null {
  if (time === null || time === undefined) return null;
  const epochMs = Date.parse(time);
  if (Number.isNaN(epochMs)) return null;
  const digits = /\.\d{3}(\d{1,3})/.exec(time)?.[1];
  const instant = digits === undefined ? epochMs : epochMs + Number(digits.padEnd(3, "0")) / 1000;
  return instant < INSTANT_MIN || instant > INSTANT_MAX ? null : instant;
}

function written(epochMs: number): number {
  return epochMs >= INSTANT_MIN ? Math.min(epochMs, INSTANT_MAX) : INSTANT_MIN;
}
