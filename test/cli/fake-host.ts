/** A host for verbs that keeps their output and written files, and supplies the files that a test names. */
import type { Host } from "../../services/cli/verb.ts";

/** A host and a record of its use. */
export interface FakeHost extends Host {
  /** All of standard output. */
  out(): string;
  /** All of standard error. */
  err(): string;
  readonly files: Map<string, string>;
  /** Requests the verb to end, as SIGTERM does. */
  stop(): void;
}

/** Creates a host at a fixed instant, with no terminal. */
export function fakeHost(files: Readonly<Record<string, string>> = {}): FakeHost {
  const printed: string[] = [];
  const warned: string[] = [];
  const held = new Map(Object.entries(files));
  const stop = new AbortController();
  return {
    print: (text) => printed.push(text),
    warn: (text) => warned.push(text),
    interactive: false,
    columns: 100,
    openTerminal: () => null,
    environment: {},
    name: "test-1",
    wallMs: () => Date.UTC(2026, 10, 20, 12),
    readFile(path) {
      const text = held.get(path);
      if (text === undefined) throw new Error("no such file");
      return text;
    },
    writeFile(path, text) {
      if (path.startsWith("/nowhere/")) throw new Error(`ENOENT: no such file, open '${path}'`);
      held.set(path, text);
    },
    readableByAll: () => false,
    makeFolder: () => "/tmp/vigil-made",
    stopped: stop.signal,
    out: () => printed.join(""),
    err: () => warned.join(""),
    files: held,
    stop: () => stop.abort(),
  };
}
