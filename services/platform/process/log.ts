/** Writes the log to standard error, as JSON (by pino) or as text for a terminal, with secrets masked. */
import { writeSync } from "node:fs";
import { type Logger, pino } from "pino";
import type { Log } from "../../../protocols/ports.ts";
import { LogSink } from "./log.sink.ts";
import { printable } from "./printable.ts";

/** The log levels, from the most lines to the fewest. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** The least severe level that is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `json` is for machines, `text` for people; `auto` is text on a terminal and JSON elsewhere. */
export const LOG_FORMATS = ["json", "text", "auto"] as const;
/** How lines are formatted. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/** The settings and the destination of a log. */
export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /**
   * Writes a whole line, as a `LogSink` does: returns how many lines were dropped just before it, or null when this one
   * was. The default is standard error.
   */
  readonly write?: (line: string) => number | null;
  readonly dropped?: () => void;
}

const STDERR = 2;

/** Creates the log of a process. */
export function createLog({ level, format, dropped = () => {}, write = stderrWriter(dropped) }: LogOptions): Log {
  const asText = format === "text" || (format === "auto" && process.stderr.isTTY === true);
  const writeShown = (line: string): void => {
    const lines = write(asText ? textOf(line) : line) ?? 0;
    if (lines > 0) log.warn("log lines could not be written and were dropped", { lines });
  };
  const options = { level, base: null, messageKey: "message", timestamp: pino.stdTimeFunctions.isoTime };
  const labelled = { ...options, formatters: { level: (label: string) => ({ level: label }) } };
  const log = portOf(pino(labelled, { write: writeShown }));
  return log;
}

function stderrWriter(dropped: () => void): (line: string) => number | null {
  const idle = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const sink = new LogSink({
    write: (bytes) => writeSync(STDERR, bytes),
    pause: (ms) => Atomics.wait(idle, 0, 0, ms),
    dropped,
  });
  return (line) => sink.write(line);
}

/** A log that writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** The same log with fields on every line, such as the service. A line's own field wins. */
export function logWith(log: Log, always: Record<string, unknown>): Log {
  return {
    debug: (message, fields) => log.debug(message, { ...always, ...fields }),
    info: (message, fields) => log.info(message, { ...always, ...fields }),
    warn: (message, fields) => log.warn(message, { ...always, ...fields }),
    error: (message, fields) => log.error(message, { ...always, ...fields }),
  };
}

function portOf(logger: Logger): Log {
  const line =
    (level: LogLevel): Log["info"] =>
    (message, fields) => {
      if (logger.isLevelEnabled(level)) logger[level](masked(fields ?? {}), maskUrls(message));
    };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

const SECRET_NAME = /token|password|passwd|secret|authorization|credential|seed|nkey|privatekey|apikey/i;
const URL_CREDENTIALS = /([a-z][a-z0-9+.-]*:\/\/)[^/\s@]+@/gi;
const BEARER = /(bearer\s+)[\w.~+/=-]+/gi;
const MASK = "***";

/** Nested fields below this depth are replaced by an ellipsis. */
const FIELD_DEPTH_MAX = 6;

function masked(fields: Record<string, unknown>, depth = 0): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, SECRET_NAME.test(name) ? MASK : plain(value, depth)]),
  );
}

function plain(value: unknown, depth: number): unknown {
  if (typeof value === "string") return maskUrls(value);
  if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error)
    return { name: value.name, message: maskUrls(value.message), stack: maskUrls(value.stack ?? "") };
  if (value instanceof Date) return value.toISOString();
  if (depth >= FIELD_DEPTH_MAX) return "…";
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  return masked(value as Record<string, unknown>, depth + 1);
}

function maskUrls(text: string): string {
  return text.replace(URL_CREDENTIALS, `$1${MASK}@`).replace(BEARER, `$1${MASK}`);
}

/** A line for people: behind the message, with a gap, the fields whose value it does not contain. */
function textOf(line: string): string {
  const { level, time, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clockTime = String(time).slice(11, 23);
  const named = new Set(String(message).split(/[\s:;,()]+/));
  const shown = Object.entries(fields)
    .filter(([, value]) => typeof value !== "string" || !named.has(value))
    .map(([name, value]) => ` ${printable(name)}=${fieldText(value)}`);
  return `${clockTime} ${String(level).toUpperCase().padEnd(5)} ${printable(String(message))}${shown.length === 0 ? "" : " "}${shown.join("")}\n`;
}

function fieldText(value: unknown): string {
  if (typeof value === "string") return printable(/^[^\s"=]+$/.test(value) ? value : JSON.stringify(value));
  if (typeof value === "object" && value !== null && "stack" in value) return stackText(String(value.stack));
  return printable(JSON.stringify(value));
}

/** Indents a stack, so that none of its lines can pass for a log line. */
function stackText(stack: string): string {
  return stack
    .split("\n")
    .map((line) => `\n    ${printable(line)}`)
    .join("");
}
