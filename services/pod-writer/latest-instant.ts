/**
 * The wall clock without its steps back: it goes on from the latest instant that it has shown. What was counted through
 * a step back has taken its time all the same, so a deadline that lies before this instant may have passed.
 */
import type { Clock } from "../../protocols/ports.ts";

/** The latest instant that it can be whenever it is called, in epoch milliseconds. */
export function latestInstant(clock: Pick<Clock, "wallMs" | "monotonicMs">): () => number {
  let aheadMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonicMs();
    aheadMs = Math.max(aheadMs, clock.wallMs() - nowMs);
    return nowMs + aheadMs;
  };
}
