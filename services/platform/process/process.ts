/** The process as its environment gave it: its streams, its files and its end. The only place that reads them. */
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { isatty } from "node:tty";

/** The process as the command line sees it. */
export interface ProcessPort {
  /** Writes to standard output. */
  print(text: string): void;
  /** Writes to standard error. */
  warn(text: string): void;
  /** Whether standard output is a terminal that can be redrawn. */
  readonly interactive: boolean;
  /** Width of the terminal in characters. */
  readonly columns: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Host name and process id: a name that no other process of the fleet has. */
  readonly name: string;
  /** Epoch milliseconds. */
  wallMs(): number;
  /** Reads a text file. Throws the file system's Error. */
  readFile(path: string): string;
  /** Whether every user of the machine can read a file; false for one that is not there. */
  readableByAll(path: string): boolean;
  /** Writes a text file that only its owner can read. Throws the file system's Error. */
  writeFile(path: string, text: string): void;
  /** Makes a temporary folder that only its owner can enter, under a name nobody can guess. */
  makeFolder(): string;
  /**
   * Aborted when the process is asked to end (SIGTERM, SIGINT, the hangup of its terminal); asked a second time, it
   * ends at once. Without a terminal a SIGHUP is ignored: there is nothing to load again.
   */
  readonly stopped: AbortSignal;
}

/** Exit code of a process that was interrupted twice. */
const INTERRUPTED = 130;

/** Exit code of a process whose output went nowhere. */
const OUTPUT_LOST = 1;

/** The bit of a file's mode that lets those read who are neither its owner nor of its group. */
const READABLE_BY_ALL = 0o004;

/** The descriptors of standard input, output and error. */
const STREAMS = [0, 1, 2] as const;

/** Width of what is no terminal. */
const COLUMNS = 100;

/** This process. */
export function thisProcess(): ProcessPort {
  process.stdout.on("error", endOnLostOutput);
  // What cannot be written there cannot be reported either, and no process ends for want of a reader.
  process.stderr.on("error", () => {});
  return {
    print: (text) => process.stdout.write(text),
    warn: (text) => process.stderr.write(text),
    interactive: process.stdout.isTTY === true,
    columns: process.stdout.columns ?? COLUMNS,
    environment: process.env,
    name: `${hostname()}-${process.pid}`,
    wallMs: () => Date.now(),
    readFile: (path) => readFileSync(path, "utf8"),
    writeFile: (path, text) => writeFileSync(path, text, { mode: 0o600 }),
    readableByAll: (path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & READABLE_BY_ALL) !== 0,
    makeFolder: () => mkdtempSync(join(tmpdir(), "vigil-")),
    stopped: stopSignal(),
  };
}

/** Ends this process with a code, or with that of a failure when not all that it printed could be written. */
export function endProcess(code: number): never {
  const { errored } = process.stdout;
  if (errored !== null && !isClosedPipe(errored)) endOnLostOutput(errored);
  process.exit(code);
}

function endOnLostOutput(error: Error): never {
  endOnClosedPipe(error);
  process.stderr.write(`vigil: standard output cannot be written: ${error.message.replace(/, \w+$/, "")}\n`);
  process.exit(OUTPUT_LOST);
}

/** A reader that has seen enough, such as `head`, is no failure of ours. */
function endOnClosedPipe(error: Error): void {
  if (isClosedPipe(error)) process.exit(0);
}

function isClosedPipe(error: NodeJS.ErrnoException): boolean {
  return error.code === "EPIPE";
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const asked = () => {
    if (stop.signal.aborted) process.exit(INTERRUPTED);
    stop.abort();
  };
  const hasTerminal = STREAMS.some((descriptor) => isatty(descriptor));
  process.on("SIGTERM", asked);
  process.on("SIGINT", asked);
  process.on("SIGHUP", hasTerminal ? asked : () => {});
  return stop.signal;
}
