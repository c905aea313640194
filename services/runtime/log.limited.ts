/**
 * Warnings that a flood of bad input cannot turn into a flood of lines. Whoever warns counts what happened.
 */
import type { Clock, Log } from "../../protocols/ports.ts";

/** Writes a warning, or swallows it. */
export type LimitedWarn = (message: string, fields: Record<string, unknown>) => void;

/** Warnings at most one every `pauseMs`; each line tells how many were swallowed since the last (`unlogged`). */
export function limitedWarn(log: Log, clock: Clock, pauseMs: number): LimitedWarn {
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (message, fields) => {
    const nowMs = clock.monotonicMs();
    if (nowMs < quietUntilMs) {
      unlogged++;
      return;
    }
    log.warn(message, unlogged > 0 ? { ...fields, unlogged } : fields);
    quietUntilMs = nowMs + pauseMs;
    unlogged = 0;
  };
}
