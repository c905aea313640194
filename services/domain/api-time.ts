/** How instants are written in Kubernetes objects: text to epoch milliseconds and back. It reads no clock. */
import { INSTANT_MAX, INSTANT_MIN } from "../../protocols/bounds.ts";

/**
 * An instant as metav1.Time writes it: whole seconds, cut off, in UTC. Never throws: one that RFC 3339 cannot write
 * becomes the nearest that it can.
 */
export function apiTime(epochMs: number): string {
  return `${new Date(written(epochMs)).toISOString().slice(0, 19)}Z`;
}

/**
 * An instant as metav1.MicroTime writes it: six digits after the second; `epochMs` carries the microseconds as its
 * fraction. Never throws, like `apiTime`.
 */
export function apiMicroTime(instant: number): string {
  const epochMs = written(instant);
  const wholeMs = Math.floor(epochMs);
  // A double holds an instant of our days to a quarter of a microsecond: the nearest one is the one that was meant.
  const micros = Math.min(999, Math.round((epochMs - wholeMs) * 1000));
  return `${new Date(wholeMs).toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
}

/** An instant as the `Date` of an HTTP answer writes it: whole seconds, cut off (RFC 9110, section 5.6.7). */
export function httpDate(epochMs: number): string {
  return new Date(epochMs).toUTCString();
}

/**
 * The instant an API time names, in epoch milliseconds with microseconds as the fraction; null for no time or an
 * unreadable one, such as one after the year 9999.
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
