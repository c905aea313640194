/** Decides how long to wait before a try is repeated. It keeps no time and no count. */
import type { Random } from "../../../protocols/ports.ts";

/** Bounds of a back-off, in milliseconds. */
export interface BackoffBounds {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** `baseMs` doubled with each failure (counted from 1), never over `maxMs`. */
export function backoffMs(failures: number, { baseMs, maxMs }: BackoffBounds): number {
  return Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1));
}

/** Full jitter: anything from 0 to that. */
export function fullJitterMs(failures: number, bounds: BackoffBounds, random: Random): number {
  return random() * backoffMs(failures, bounds);
}
