/** The environment of this process: its streams, files, signals and end. No other file touches them. */
import { lstatSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { isatty } from "node:tty";
import { openTerminal, type Terminal, type TerminalListener } from "./terminal.ts";

/** The process as the command line uses it. */
export interface ProcessPort {
  /** Writes to standard output. */
  print(text: string): void;
  /** Writes to standard error. */
  warn(text: string): void;
  /** Whether standard output is a terminal that can be redrawn. */
  readonly interactive: boolean;
  readonly columns: number;
  /** Opens the terminal as a screen; null where standard input or output is none. */
  openTerminal(listener: TerminalListener): Terminal | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Host name and process id: unique in a fleet. */
  readonly name: string;
  wallMs(): number;
  /** Reads a text file. Throws the file system's Error. */
  readFile(path: string): string;
  /** Whether every user of the machine can read a file; false for a missing one. */
  readableByAll(path: string): boolean;
  /** Writes a text file that only its owner can read, and follows no link. Throws the file system's Error. */
  writeFile(path: string, text: string): void;
  /** Makes a temporary folder under an unpredictable name that only its owner can enter. It ends with the process. */
  makeFolder(): string;
  /**
   * Aborted by SIGTERM, SIGINT or the hangup of the terminal; a second signal ends the process at once. Without a
   * terminal SIGHUP is ignored, because there is nothing to reload.
   */
  readonly stopped: AbortSignal;
}

/** Exit code after a second signal. */
const INTERRUPTED = 130;

/** Exit code when the output could not be written. */
const OUTPUT_LOST = 1;

const READABLE_BY_ALL = 0o004;

const STREAMS = [0, 1, 2] as const;

/** Width of output that is no terminal. */
const COLUMNS = 100;

/** Removed when the process ends. */
const FOLDERS: string[] = [];

/** The files of this process, without its streams and signals. */
export const processFiles: Pick<ProcessPort, "readFile" | "readableByAll" | "writeFile" | "makeFolder"> = {
  readFile: (path) => readFileSync(path, "utf8"),
  readableByAll: (path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & READABLE_BY_ALL) !== 0,
  writeFile: writePrivateFile,
  makeFolder,
};

/** The port to this process. Only its entry point calls it: it answers the signals and errors of the whole process. */
export function thisProcess(): ProcessPort {
  process.stdout.on("error", endOnLostOutput);
  // Nothing can report a failure of standard error, and the process must not end because of it.
  process.stderr.on("error", () => {});
  return {
    print: (text) => process.stdout.write(text),
    warn: (text) => process.stderr.write(text),
    interactive: process.stdout.isTTY === true,
    columns: process.stdout.columns ?? COLUMNS,
    openTerminal: (listener) => openTerminal(process.stdin, process.stdout, listener),
    environment: process.env,
    name: `${hostname()}-${process.pid}`,
    wallMs: () => Date.now(),
    ...processFiles,
    stopped: stopSignal(),
  };
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "vigil-"));
  if (FOLDERS.push(folder) === 1) process.once("exit", removeFolders);
  return folder;
}

function removeFolders(): void {
  for (const folder of FOLDERS) rmSync(folder, { recursive: true, force: true });
}

/** Ends this process with a code, or with OUTPUT_LOST when its output could not be written. */
export function endProcess(code: number): never {
  const { errored } = process.stdout;
  if (errored !== null && !isClosedPipe(errored)) endOnLostOutput(errored);
  process.exit(code);
}

function endOnLostOutput(error: Error): never {
  if (isClosedPipe(error)) process.exit(0);
  process.stderr.write(`vigil: standard output cannot be written: ${error.message.replace(/, \w+$/, "")}\n`);
  process.exit(OUTPUT_LOST);
}

/** A reader that has read enough, such as `head`, closes the pipe. That is no failure. */
function isClosedPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE";
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const stopRequested = () => {
    if (stop.signal.aborted) process.exit(INTERRUPTED);
    stop.abort();
  };
  const hasTerminal = STREAMS.some((descriptor) => isatty(descriptor));
  process.on("SIGTERM", stopRequested);
  process.on("SIGINT", stopRequested);
  process.on("SIGHUP", hasTerminal ? stopRequested : () => {});
  return stop.signal;
}

/** Read and written by the owner alone. */
const OWNER_ONLY = 0o600;

/**
 * Writes a text file that only its owner can read. A file that exists is replaced, because others may have it open or
 * may read it by its mode; a link is refused, because another user may have made it. Throws the file system's Error.
 */
export function writePrivateFile(path: string, text: string): void {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing?.isSymbolicLink() === true) throw new Error("is a symbolic link; name the file that it leads to");
  if (existing?.isFile() === true) rmSync(path);
  const isDevice = existing !== undefined && !existing.isFile();
  writeFileSync(path, text, { mode: OWNER_ONLY, flag: isDevice ? "w" : "wx" });
}
