/** A terminal of tmux in a test: it shows what a user sees, is resized, and takes keys. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { until } from "../../support/until.ts";

const TMUX = "/usr/bin/tmux";

/** Why there is no tmux here, and how to get it; null where there is. */
export const TMUX_MISSING = existsSync(TMUX) ? null : "tmux not found: apt-get install tmux";

/** One terminal, with a server of tmux for itself. */
export class Tmux {
  readonly #socket: string;

  constructor(name: string) {
    this.#socket = `vigil-${name}-${process.pid}`;
  }

  /** Opens it with a shell in it. */
  open(columns: number, rows: number): void {
    const size = ["-x", String(columns), "-y", String(rows)];
    this.#run("-f", "/dev/null", "new-session", "-d", "-s", "top", ...size, "sh");
  }

  /** Presses keys, by the names that tmux gives them. */
  press(...keys: string[]): void {
    this.#run("send-keys", "-t", "top", ...keys);
  }

  resize(columns: number, rows: number): void {
    this.#run("resize-window", "-t", "top", "-x", String(columns), "-y", String(rows));
  }

  /** What it shows, line by line. */
  screen(): string[] {
    return this.#run("capture-pane", "-p", "-t", "top").split("\n");
  }

  /** Resolves once it shows a text. */
  shows(text: string): Promise<void> {
    const picture = () => this.screen().join("\n");
    return until(
      () => `the screen shows ${text}; it is ${picture()}`,
      () => picture().includes(text),
    );
  }

  close(): void {
    this.#run("kill-server");
  }

  #run(...args: string[]): string {
    return execFileSync(TMUX, ["-L", this.#socket, ...args], { encoding: "utf8" });
  }
}
