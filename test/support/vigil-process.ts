/** The program as a child process of a test: its output and its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { until } from "./until.ts";

const MAIN = join(import.meta.dirname, "../../services/vigil.js");
const ROOM_TO_START_MS = 120_000;

/** What a child process runs on, where it is not the usual. */
export interface VigilProcessOptions {
  /** Flags of Node itself. */
  readonly nodeFlags?: readonly string[];
  /** A descriptor for its standard error. */
  readonly stderr?: "pipe" | number;
  /** The program: that of this tree if left out. */
  readonly main?: string;
}

/** A running `vigil`. Its environment is clean, so no kubeconfig of the machine applies. */
export class VigilProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  #out = "";
  #err = "";
  readonly #endWithTest = (): void => {
    this.#child.kill("SIGKILL");
  };

  /** Starts the program. */
  constructor(argv: readonly string[], { nodeFlags = [], stderr = "pipe", main = MAIN }: VigilProcessOptions = {}) {
    const env = { PATH: process.env.PATH, HOME: "/nonexistent" };
    this.#child = spawn(process.execPath, [...nodeFlags, main, ...argv], { env, stdio: ["ignore", "pipe", stderr] });
    this.#child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#out += chunk;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#err += chunk;
    });
    this.#exit = once(this.#child, "close").then(([code]) => code);
    process.once("exit", this.#endWithTest);
    void this.#exit.then(() => process.off("exit", this.#endWithTest));
  }

  /** Its process id. */
  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** All of standard output so far. */
  get out(): string {
    return this.#out;
  }

  /** All of standard error so far. */
  get err(): string {
    return this.#err;
  }

  /** The parsed log lines so far, without lines that are not JSON and without an incomplete last one. */
  get logged(): { readonly level: string; readonly message: string; readonly [field: string]: unknown }[] {
    return this.#err
      .split("\n")
      .slice(0, -1)
      .flatMap((line) => (line.startsWith("{") && line.endsWith("}") ? [JSON.parse(line)] : []));
  }

  /** Waits for a log line that contains a text. */
  async untilLogged(text: string): Promise<void> {
    const hasLogged = () => this.logged.some(({ message }) => message.includes(text));
    const what = () => `vigil says ${JSON.stringify(text)}; it said ${this.#err}`;
    await until(what, hasLogged, { withinMs: ROOM_TO_START_MS });
  }

  /** Closes the reading end of its standard error, so its later writes meet a closed pipe. */
  closeErr(): void {
    this.#child.stderr?.destroy();
  }

  /** Sends a signal. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Resolves with the exit code; null when a signal ended it. */
  exited(): Promise<number | null> {
    return this.#exit;
  }
}
