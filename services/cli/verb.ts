/** What a verb of the command line is, and all that one may reach. The verbs themselves are in verbs/. */
import { type Alias, parseFlags } from "../runtime/config.flags.ts";
import { ConfigProblem, type SettingTable, type ValuesOf } from "../runtime/config.value.ts";
import type { ProcessPort } from "../runtime/process.ts";

/** The world as a verb sees it: where it prints, what it may read, and when it should end. */
export type Host = ProcessPort;

/** Reads a file that a flag names. Throws a Failure of one line. */
export function readNamedFile(host: Host, path: string): string {
  return naming(path, () => host.readFile(path));
}

/** Writes a file that a flag names. Throws a Failure of one line. */
export function writeNamedFile(host: Host, path: string, text: string): void {
  naming(path, () => host.writeFile(path, text));
}

function naming<V>(path: string, act: () => V): V {
  try {
    return act();
  } catch (error) {
    throw new Failure(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What ended a verb that was asked for properly: one line for the person who asked. Exit code 1. */
export class Failure extends Error {}

/** Resolves when the process is asked to end. */
export function untilStopped({ stopped }: Host): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) resolve();
    stopped.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** One line of a verb's help: a command and what it does. */
export interface Example {
  readonly command: string;
  readonly does: string;
}

/** What a verb's help shows as one group of flags. */
export interface FlagSection {
  readonly title: string;
  readonly settings: SettingTable;
}

/** A verb as the command line starts it. */
export interface Verb {
  readonly name: string;
  /** One sentence, without its full stop, that begins with what the verb does. */
  readonly summary: string;
  /** How its words are written in the usage line, such as `<node|zone>`; empty when it takes none. */
  readonly words: string;
  /** Words it takes in first place, for completion. */
  readonly firstWords: readonly string[];
  readonly sections: readonly FlagSection[];
  readonly aliases: ReadonlyMap<string, Alias>;
  readonly examples: readonly Example[];
  /** Runs it to its end and gives the exit code. Throws a ConfigProblem or a Failure. */
  start(argv: readonly string[], host: Host): Promise<number>;
}

/** A verb whose flags are one table: what is special about it, the rest is filled in. */
export interface VerbDefinition<T extends SettingTable> {
  readonly name: string;
  readonly summary: string;
  readonly words?: string;
  readonly firstWords?: readonly string[];
  readonly settings: T;
  readonly examples: readonly Example[];
  /** Runs with a value for every setting and the words that are no flags. Gives the exit code. */
  run(values: Readonly<ValuesOf<T>>, words: readonly string[], host: Host): Promise<number>;
}

/** Makes a verb whose flags are one table. */
export function defineVerb<T extends SettingTable>(definition: VerbDefinition<T>): Verb {
  const { name, summary, words = "", firstWords = [], settings, examples } = definition;
  return {
    name,
    summary,
    words,
    firstWords,
    sections: [{ title: "Flags", settings }],
    aliases: new Map(),
    examples,
    start: async (argv, host) => {
      const { given, words: said } = parseFlags(argv, settings);
      if (words === "" && said[0] !== undefined) throw new ConfigProblem(`${said[0]}: vigil ${name} takes flags only`);
      const values = Object.entries(settings).map(([key, { standard }]) => [key, given.get(key) ?? standard]);
      return definition.run(Object.fromEntries(values) as ValuesOf<T>, said, host);
    },
  };
}
