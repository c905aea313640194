/** What a verb of the command line is, and all that one may reach. The verbs themselves are in verbs/. */
import type { Clock } from "../../protocols/ports.ts";
import { type Alias, parseFlags } from "../platform/config/flags.ts";
import { ConfigProblem, exampleOf, type SettingTable, type ValuesOf } from "../platform/config/value.ts";
import type { ProcessPort } from "../platform/process/process.ts";

/** The world as a verb sees it: where it prints, what it may read, and when it should end. */
export type Host = ProcessPort;

/** Reads the file that a flag, named without its dashes, was given. Throws a Failure of one line. */
export function readNamedFile(host: Pick<Host, "readFile">, flag: string, path: string): string {
  return naming(flag, path, () => host.readFile(path));
}

/** Writes the file that a flag, named without its dashes, was given. Throws a Failure of one line. */
export function writeNamedFile(host: Host, flag: string, path: string, text: string): void {
  naming(flag, path, () => host.writeFile(path, text));
}

/** The file system's words without its code and its call, which name nothing that the line does not. */
const CODE_AND_CALL = /^E[A-Z]+: |, \w+( '.*')?$/g;

function naming<V>(flag: string, path: string, act: () => V): V {
  try {
    return act();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(`--${flag}=${path}: ${reason.replace(CODE_AND_CALL, "")}`);
  }
}

/** What ended a verb that was asked for properly: one line for the person who asked. Exit code 1. */
export class Failure extends Error {}

/** Resolves when the process is asked to end. */
export function untilStopped({ stopped }: Pick<Host, "stopped">): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) resolve();
    stopped.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Waits, but no longer than until the process is asked to end. */
export function pause(pauseMs: number, clock: Clock, { stopped }: Pick<Host, "stopped">): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      stopped.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(stopped.aborted ? 0 : pauseMs, end);
    stopped.addEventListener("abort", end);
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
  /** How many words it takes at most; when not given, it looks at them itself. */
  readonly wordsMax?: number;
  readonly settings: T;
  readonly examples: readonly Example[];
  /** Runs with a value for every setting and the words that are no flags. Gives the exit code. */
  run(values: Readonly<ValuesOf<T>>, words: readonly string[], host: Host): Promise<number>;
}

/** Makes a verb whose flags are one table. */
export function defineVerb<T extends SettingTable>(definition: VerbDefinition<T>): Verb {
  const { name, summary, words = "", firstWords = [], wordsMax, settings, examples } = definition;
  const aliases = shortSpellings(settings);
  return {
    name,
    summary,
    words,
    firstWords,
    sections: [{ title: "Flags", settings }],
    aliases,
    examples,
    start: async (argv, host) => {
      const { given, words: said } = parseFlags(splitLetters(argv, settings, aliases), settings, aliases);
      if (words === "" && said[0] !== undefined) throw new ConfigProblem(`${said[0]}: vigil ${name} takes flags only`);
      if (wordsMax !== undefined) refuseMore([name, ...said], 1 + wordsMax);
      const values = Object.entries(settings).map(([key, { standard }]) => [key, given.get(key) ?? standard]);
      return definition.run(Object.fromEntries(values) as ValuesOf<T>, said, host);
    },
  };
}

/** Letters for flags that fingers know from kubectl. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ["output", "o"],
  ["watch", "w"],
]);

function shortSpellings(settings: SettingTable): ReadonlyMap<string, Alias> {
  return new Map(
    Object.values(settings).flatMap((setting): [string, Alias][] => {
      const { flag } = setting;
      const letter = SHORT.get(flag);
      if (letter === undefined) return [];
      const meaning = `The same as --${flag}.`;
      const bare = setting.unit === "switch" ? { bare: "true" } : {};
      return [[letter, { flag, meaning, example: exampleOf(setting), rewrite: (text) => text, ...bare }]];
    }),
  );
}

/** A letter and its value may be one word, as in `-ojson`. */
function splitLetters(
  argv: readonly string[],
  settings: SettingTable,
  aliases: ReadonlyMap<string, Alias>,
): readonly string[] {
  const words = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const flags = Object.values(settings).map(({ flag }) => flag);
  return argv.map((word, at) => {
    const [, letter = "", value = ""] = /^-(\w)([^=-].*)$/.exec(word) ?? [];
    const known = !aliases.has(letter) || flags.includes(`${letter}${value}`.split("=")[0] ?? "");
    return at > words || known ? word : `-${letter}=${value}`;
  });
}

/** Throws a ConfigProblem when there are more words than so many. */
function refuseMore(words: readonly string[], wordsMax: number): void {
  if (words.length > wordsMax) throw new ConfigProblem(`${words.join(" ")}: ${words[wordsMax]} is too much`);
}
