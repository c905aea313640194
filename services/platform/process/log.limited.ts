/**
 * Log lines that a flood of bad input cannot turn into a flood of lines. The code that logs counts what happened.
 */
import type { Clock, Log } from "../../../protocols/ports.ts";

/** Writes a warning, or swallows it. */
export type LimitedWarn = (message: string, fields: Record<string, unknown>) => void;

/** How many lines may be written, and within what time. */
export interface LineLimit {
  readonly linesMax: number;
  readonly periodMs: number;
}

/**
 * The same log with at most `linesMax` lines in each period; a period begins with its first line. The next line after
 * some were swallowed says how many (`unlogged`). Debug lines pass.
 */
export function limitedLog(log: Log, clock: Clock, { linesMax, periodMs }: LineLimit): Log {
  let endsMs = Number.NEGATIVE_INFINITY;
  let written = 0;
  let unlogged = 0;
  const limited =
    (level: "info" | "warn" | "error"): Log["info"] =>
    (message, fields) => {
      const nowMs = clock.monotonicMs();
      if (nowMs >= endsMs) {
        endsMs = nowMs + periodMs;
        written = 0;
      }
      if (written >= linesMax) {
        unlogged++;
        return;
      }
      written++;
      log[level](message, unlogged > 0 ? { ...fields, unlogged } : fields);
      unlogged = 0;
    };
  return {
    debug: (message, fields) => log.debug(message, fields),
    info: limited("info"),
    warn: limited("warn"),
    error: limited("error"),
  };
}

/** Warnings at most one every `pauseMs`; each line says how many were swallowed since the last (`unlogged`). */
export function limitedWarn(log: Log, clock: Clock, pauseMs: number): LimitedWarn {
  const limited = limitedLog(log, clock, { linesMax: 1, periodMs: pauseMs });
  return (message, fields) => limited.warn(message, fields);
}
