/** Decides how long to wait before a try is repeated. It keeps no time and no count. */
import type { Random } from "../../../protocols/ports.ts";

/** Bounds of a back-off, in milliseconds. */
export interface BackoffBounds {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Full jitter: anything from 0 to `baseMs` doubled with each failure (counted from 1), never over `maxMs`. */
export function fullJitterMs(failures: number, bounds: BackoffBounds, random: Random): number {
  const ceiling = Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.max(0, failures - 1));
  return random() * ceiling;
}
