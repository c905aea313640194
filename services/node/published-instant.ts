/** An instant of the monotonic clock as it is published. */
import type { Instant } from "../domain/instant.ts";

/** By how much an instant may move without being published again, in milliseconds: clocks are slewed. */
const MOVED_MS = 1000;

/** The instant in epoch milliseconds; the one that was published before, unless it has moved by a second. */
export function publishedInstant(before: number | undefined, ms: number, { nowMs, wallMs }: Instant): number {
  const at = Math.round(wallMs + (ms - nowMs));
  return before !== undefined && Math.abs(at - before) < MOVED_MS ? before : at;
}
