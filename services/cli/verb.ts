/** The type of a verb of the command line and its access to the process. The verbs are in verbs/. */
import type { Clock } from "../../protocols/ports.ts";
import { type Alias, parseFlags, refuseWords } from "../platform/config/flags.ts";
import {
  ConfigProblem,
  exampleOf,
  type SettingTable,
  type SettingValue,
  type ValuesOf,
} from "../platform/config/value.ts";
import type { ProcessPort } from "../platform/process/process.ts";

/** The process as a verb uses it: output, files, and the signal to stop. */
export type Host = ProcessPort;

/** Reads the file of a flag, named without its dashes. Throws a Failure of one line. */
export function readNamedFile(host: Pick<Host, "readFile">, flag: string, path: string): string {
  return naming(flag, path, () => host.readFile(path));
}

/** Writes the file of a flag, named without its dashes. Throws a Failure of one line. */
export function writeNamedFile(host: Host, flag: string, path: string, text: string): void {
  naming(flag, path, () => host.writeFile(path, text));
}

/** The error code and the system call in a message of the file system; both are noise to an operator. */
const CODE_AND_CALL = /^E[A-Z]+: |, \w+( '.*')?$/g;

function naming<V>(flag: string, path: string, act: () => V): V {
  try {
    return act();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(`--${flag}=${path}: ${reason.replace(CODE_AND_CALL, "")}`);
  }
}

/** Exit codes of the command line: done, failed, used wrongly. */
export const ExitCode = { ok: 0, failed: 1, usage: 2 } as const;

/** Why a verb failed although it was used correctly: one line for the user. Exit code 1. */
export class Failure extends Error {}

/** Resolves when the process is stopped. */
export function untilStopped({ stopped }: Pick<Host, "stopped">): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) resolve();
    stopped.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Waits for a pause or until the process is stopped. */
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

/** A group of flags in a verb's help. */
export interface FlagSection {
  readonly title: string;
  readonly settings: SettingTable;
}

/** A verb of the command line. */
export interface Verb {
  readonly name: string;
  /** A phrase that begins with a verb in lower case and has no full stop. */
  readonly summary: string;
  /** Its arguments in the usage line, such as `<node|zone>`; empty when it has none. */
  readonly words: string;
  /** Values of the first argument, for completion. */
  readonly firstWords: readonly string[];
  /**
   * After which first word, or flag with its dashes, which topic of `vigil get` has the names to complete; after the verb
   * itself for an empty one.
   */
  readonly liveNames: ReadonlyMap<string, string>;
  readonly sections: readonly FlagSection[];
  readonly aliases: ReadonlyMap<string, Alias>;
  readonly examples: readonly Example[];
  /** Runs to the end and returns the exit code. Throws a ConfigProblem or a Failure. */
  start(argv: readonly string[], host: Host): Promise<number>;
}

/** The values of the flags that were given, by setting name. */
export type GivenFlags = ReadonlyMap<string, SettingValue>;

/** What defines a verb with one table of flags. */
export interface VerbDefinition<T extends SettingTable> {
  readonly name: string;
  readonly summary: string;
  readonly words?: string;
  readonly firstWords?: readonly string[];
  readonly liveNames?: ReadonlyMap<string, string>;
  /** Most arguments; without it `run` checks them. */
  readonly wordsMax?: number;
  readonly settings: T;
  readonly examples: readonly Example[];
  /** Runs with a value for every setting and the arguments; `given` has the flags alone. Returns the exit code. */
  run(values: Readonly<ValuesOf<T>>, words: readonly string[], host: Host, given: GivenFlags): Promise<number>;
}

/** Makes a verb with one table of flags. */
export function defineVerb<T extends SettingTable>(definition: VerbDefinition<T>): Verb {
  const { name, summary, words = "", firstWords = [], liveNames = new Map(), wordsMax } = definition;
  const { settings, examples } = definition;
  const aliases = shortSpellings(settings);
  return {
    name,
    summary,
    words,
    firstWords,
    liveNames,
    sections: [{ title: "Flags", settings }],
    aliases,
    examples,
    start: async (argv, host) => {
      const { given, words: args } = parseFlags(splitLetters(argv, settings, aliases), settings, aliases);
      if (words === "") refuseWords(name, args);
      const extra = wordsMax === undefined ? undefined : args[wordsMax];
      if (extra !== undefined) throw unexpectedArgument([name, ...args], extra);
      const values = Object.entries(settings).map(([key, { standard }]) => [key, given.get(key) ?? standard]);
      return definition.run(Object.fromEntries(values) as ValuesOf<T>, args, host, given);
    },
  };
}

/** The problem of an argument that a verb, the first of the words, does not accept. */
export function unexpectedArgument(words: readonly string[], extra: string): ConfigProblem {
  return new ConfigProblem(`${words.join(" ")}: unexpected argument: ${extra}; see vigil ${words[0]} --help`);
}

/** The one-letter flags of kubectl. */
const SHORT: ReadonlyMap<string, string> = new Map([
  ["output", "o"],
  ["watch", "w"],
  ["namespace", "n"],
  ["all-namespaces", "A"],
  ["selector", "l"],
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

/** Splits a letter from its value, as in `-ojson`. */
function splitLetters(argv: readonly string[], settings: SettingTable, aliases: Verb["aliases"]): readonly string[] {
  const words = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const flags = Object.values(settings).map(({ flag }) => flag);
  return argv.map((word, at) => {
    const [, letter = "", value = ""] = /^-(\w)([^=-].*)$/.exec(word) ?? [];
    const known = !aliases.has(letter) || flags.includes(`${letter}${value}`.split("=")[0] ?? "");
    return at > words || known ? word : `-${letter}=${value}`;
  });
}
