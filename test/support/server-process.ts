/**
 * A server program as a child process of a test: started, frozen, ended, and never outliving the test. It knows nothing
 * of the particular server.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";

/** On Linux the kernel then ends the child with its parent, however the parent ends. */
const DEATH_WATCH = "/usr/bin/setpriv";
/** How much of a server's output is kept for a failure's message. */
const LOG_CHARACTERS_MAX = 20_000;

// Each program listens for the end of the test, and a test may run those of two clusters.
process.setMaxListeners(50);

/** A process with readable output and without input. */
type ReadableProcess = ChildProcessByStdio<null, Readable, Readable>;

/** Where a program runs: the additions to the environment of the test, the working folder, and the process group. */
export interface ProcessPlace {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Whether it leads its own process group. Then its child processes can be ended with it. */
  readonly detached?: boolean;
}

/** Starts a program that ends with the test process, on Linux however that ends. */
export function spawnWithTest(program: string, args: readonly string[], place: ProcessPlace = {}): ReadableProcess {
  const watched = existsSync(DEATH_WATCH);
  const command = watched ? DEATH_WATCH : program;
  const argv = watched ? ["--pdeathsig", "KILL", program, ...args] : args;
  const env = { ...process.env, ...place.env };
  return spawn(command, argv, { ...place, env, stdio: ["ignore", "pipe", "pipe"] });
}

/** One program that can be started several times with the same arguments. */
export class ServerProcess {
  readonly #program: string;
  readonly #args: readonly string[];
  #child: ReadableProcess | null = null;
  #log = "";
  readonly #endWithTest = (): void => {
    this.#child?.kill("SIGKILL");
  };

  constructor(program: string, args: readonly string[]) {
    this.#program = program;
    this.#args = args;
  }

  start(): void {
    const child = spawnWithTest(this.#program, this.#args);
    const keep = (chunk: Buffer): void => {
      this.#log = (this.#log + chunk.toString()).slice(-LOG_CHARACTERS_MAX);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    this.#child = child;
    process.once("exit", this.#endWithTest);
  }

  /** Ends it and waits until it has ended. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = null;
    process.off("exit", this.#endWithTest);
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    child.kill("SIGCONT");
    await ended;
  }

  /** Freezes it: its connections stay open and silent. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Whether it is running. */
  running(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The end of its output. */
  log(): string {
    return this.#log;
  }
}
