/**
 * `vigil top`: zones, troubled nodes and countdowns, live in a terminal. It reads from a console, as `vigil get` does.
 */
import type {
  Explanation,
  NodeReport,
  Overview,
  PendingEviction,
  PolicyReport,
} from "../../../protocols/ledger-reader.ts";
import type { Clock } from "../../../protocols/ports.ts";
import { byTrouble } from "../../console/query.routes.ts";
import { switchSetting } from "../../platform/config/setting-builders.ts";
import { filled } from "../../platform/process/fill.ts";
import { printable } from "../../platform/process/printable.ts";
import type { Terminal } from "../../platform/process/terminal.ts";
import {
  CONSOLE_SETTINGS,
  type ConsoleAddress,
  consoleAt,
  getFromConsole,
  textFromConsole,
} from "../connect/console-client.ts";
import { WATCH_PERIOD_MS } from "../get/watch-rows.ts";
import { screenOf } from "../top/top-screen.ts";
import { afterKey, FIRST_STATE, type TopAnswer, type TopState } from "../top/top-state.ts";
import { defineVerb, Failure, type Host, pause, type Verb } from "../verb.ts";
import { explanationText } from "./explain.ts";

/** How many nodes of each readiness, and how many pods, are requested at most. */
const ROWS_MAX = 500;

const SETTINGS = {
  color: switchSetting("color", true, "Use colours; NO_COLOR in the environment switches them off too."),
  ...CONSOLE_SETTINGS,
} as const;

/** The verb that shows a fleet until `q` is pressed or the process is stopped. */
export const topVerb = (clock: Clock): Verb =>
  defineVerb({
    name: "top",
    summary: "show zones, troubled nodes, countdowns and policies, live in a terminal",
    settings: SETTINGS,
    examples: [
      { command: "vigil top", does: "the fleet behind the console of this machine, until q is pressed" },
      { command: "vigil top --server=https://vigil.example:8080", does: "another console" },
    ],
    run: async ({ color, ...at }, _words, host) => {
      const isColored = color && (host.environment.NO_COLOR ?? "") === "" && host.environment.TERM !== "dumb";
      await new Top({ at, host, clock, color: isColored }).run();
      return 0;
    },
  });

interface TopParts {
  readonly at: ConsoleAddress;
  readonly host: Host;
  readonly clock: Clock;
  readonly color: boolean;
}

/** The messages that a process has given to its actors, in the text of its metrics. */
const RECEIVED = /^vigil_bus_received_total\{[^}]*\} ([0-9.e+]+)$/gm;

class Top {
  readonly #parts: TopParts;
  /** Ends the loop: `q`, or the host's stop. */
  readonly #ending = new AbortController();
  #state: TopState = FIRST_STATE;
  #terminal: Terminal | null = null;
  #received: { readonly count: number; readonly atMs: number } | null = null;

  constructor(parts: TopParts) {
    this.#parts = parts;
  }

  /** Resolves at the end. Rejects with a Failure without a terminal, or when the first answer is none. */
  async run(): Promise<void> {
    const { host, clock } = this.#parts;
    if (!host.interactive) throw new Failure("top needs a terminal; vigil get prints the same for pipes and files");
    const stopped = AbortSignal.any([host.stopped, this.#ending.signal]);
    this.#state = { ...this.#state, answer: await this.#read() };
    const terminal = host.openTerminal({ key: (key) => this.#press(key), resized: () => this.#draw() });
    if (terminal === null) throw new Failure("top needs a terminal for its keys; standard input is none");
    this.#terminal = terminal;
    try {
      this.#draw();
      while (!stopped.aborted) {
        await pause(WATCH_PERIOD_MS, clock, { stopped });
        if (!stopped.aborted) await this.#refresh();
      }
    } finally {
      this.#terminal = null;
      terminal.close();
    }
  }

  #press(key: string): void {
    const before = this.#state.explained;
    const after = afterKey(this.#state, key);
    if (after === null) {
      this.#ending.abort();
      return;
    }
    this.#state = after;
    if (after.explained !== null && after.explained.path !== before?.path) void this.#explain(after.explained.path);
    this.#draw();
  }

  async #refresh(): Promise<void> {
    const answer = await this.#read().catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      this.#state = { ...this.#state, problem: `${error.message}; retrying` };
      return null;
    });
    if (answer !== null) this.#state = { ...this.#state, answer, problem: null };
    this.#draw();
  }

  async #read(): Promise<TopAnswer> {
    const get = <T>(path: string) => getFromConsole<T>(this.#parts.at, path, this.#parts.host);
    const nodesOf = (readiness: string) =>
      get<{ nodes: NodeReport[] }>(`/api/nodes?readiness=${readiness}&limit=${ROWS_MAX}`);
    const [about, overview, { next: pods }, policies, messagesPerSecond, ...nodes] = await Promise.all([
      get<TopAnswer["about"]>("/api/about"),
      get<Overview>("/api/overview"),
      get<{ next: PendingEviction[] }>(`/api/evictions?limit=${ROWS_MAX}`),
      this.#policies(),
      this.#messagesPerSecond(),
      ...["unknown", "notReady", "starting"].map(nodesOf),
    ]);
    const troubled = nodes.flatMap((answer) => answer.nodes).sort(byTrouble);
    return { about, overview, pods, policies, messagesPerSecond, nodes: troubled };
  }

  /** The node policies; none while the console does not know them. */
  async #policies(): Promise<readonly PolicyReport[]> {
    const { at, host } = this.#parts;
    const answer = await getFromConsole<{ policies: PolicyReport[] }>(at, "/api/policies", host).catch(
      (error: unknown) => {
        if (error instanceof Failure) return { policies: [] };
        throw error;
      },
    );
    return answer.policies;
  }

  /** From two readings of the metrics; null before the second, and where they may not be read. */
  async #messagesPerSecond(): Promise<number | null> {
    const { at, host, clock } = this.#parts;
    const text = await textFromConsole(at, "/metrics", host).catch((error: unknown) => {
      if (error instanceof Failure) return null;
      throw error;
    });
    const before = this.#received;
    this.#received = text === null ? null : { count: receivedIn(text), atMs: clock.monotonicMs() };
    if (before === null || this.#received === null || this.#received.count < before.count) return null;
    const elapsedMs = this.#received.atMs - before.atMs;
    return elapsedMs <= 0 ? null : ((this.#received.count - before.count) / elapsedMs) * 1000;
  }

  async #explain(path: string): Promise<void> {
    const { at, host } = this.#parts;
    const columns = this.#terminal?.size().columns ?? host.columns;
    const text = await getFromConsole<Explanation>(at, path, host).then(explanationText, (error: unknown) => {
      if (error instanceof Failure) return printable(error.message);
      throw error;
    });
    const { explained } = this.#state;
    if (explained?.path !== path) return;
    const lines = text
      .trimEnd()
      .split("\n")
      .flatMap((line) => (line === "" ? [""] : filled(line, columns)));
    this.#state = { ...this.#state, explained: { ...explained, lines } };
    this.#draw();
  }

  #draw(): void {
    const { at, host, color } = this.#parts;
    const terminal = this.#terminal;
    if (terminal === null) return;
    const { server } = consoleAt(at, host);
    terminal.draw(screenOf(this.#state, { ...terminal.size(), color, nowMs: host.wallMs(), server }));
  }
}

function receivedIn(metricsText: string): number {
  return [...metricsText.matchAll(RECEIVED)].reduce((sum, [, value]) => sum + Number(value), 0);
}
