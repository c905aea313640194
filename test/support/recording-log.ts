/** A log that keeps its lines for a test to check. */
import type { Log } from "../../protocols/ports.ts";

/** One line that was logged. */
export interface LogLine {
  readonly level: keyof Log;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** Creates a log that writes nothing and keeps everything. */
export function recordingLog(): Log & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: keyof Log): Log["info"] =>
    (message, fields = {}) => {
      lines.push({ level, message, fields });
    };
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
