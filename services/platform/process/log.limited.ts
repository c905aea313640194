/** Limits log lines, so that a flood of bad input is not a flood of lines. */
import type { Clock, Log } from "../../../protocols/ports.ts";

/** Logs or drops a warning. */
export type LimitedWarn = (message: string, fields: Record<string, unknown>) => void;

/** At most `linesMax` lines in each period. */
export interface LineLimit {
  readonly linesMax: number;
  readonly periodMs: number;
  /** Periods double up to this while lines keep coming, and start over after so long without one. */
  readonly periodMaxMs?: number;
}

/**
 * The same log with at most `linesMax` lines in each period; a period begins with its first line. The first line after
 * dropped ones carries their number as `unlogged`. Debug lines are not limited.
 */
export function limitedLog(log: Log, clock: Clock, { linesMax, periodMs, periodMaxMs = periodMs }: LineLimit): Log {
  let lengthMs = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  let endsMs = Number.NEGATIVE_INFINITY;
  let written = 0;
  let unlogged = 0;
  const limited =
    (level: "info" | "warn" | "error"): Log["info"] =>
    (message, fields) => {
      const nowMs = clock.monotonicMs();
      if (nowMs >= endsMs) {
        lengthMs = nowMs >= lastMs + periodMaxMs ? periodMs : Math.min(2 * lengthMs, periodMaxMs);
        endsMs = nowMs + lengthMs;
        written = 0;
      }
      lastMs = nowMs;
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

/**
 * At most one warning every `pauseMs`; `unlogged` is the number of warnings dropped since the last. With `pauseMaxMs`
 * the pauses double up to it while warnings keep coming.
 */
export function limitedWarn(log: Log, clock: Clock, pauseMs: number, pauseMaxMs = pauseMs): LimitedWarn {
  const limited = limitedLog(log, clock, { linesMax: 1, periodMs: pauseMs, periodMaxMs: pauseMaxMs });
  return (message, fields) => limited.warn(message, fields);
}
