/** Parses a command line against a table of settings. */
import { nearest } from "../../domain/suggest.ts";
import { ConfigProblem, exampleOf, readValue, type Setting, type SettingTable, type SettingValue } from "./value.ts";

/** A parsed command line. */
export interface CommandLine {
  /** Values by setting name, of the flags that were given; of one given again the last counts, and lists add up. */
  readonly given: ReadonlyMap<string, SettingValue>;
  readonly words: readonly string[];
  /** Whether help was requested; the rest is not checked then. */
  readonly help: boolean;
}

/** Another spelling of a flag. */
export interface Alias {
  readonly flag: string;
  readonly meaning: string;
  readonly example: string;
  /** The value when none is written; absent when a value is required. */
  readonly bare?: string;
  /** The value for `flag`; null when there is none. */
  readonly rewrite: (value: string) => string | null;
}

/**
 * Parses `--flag=value`, `--flag value` and a bare `--switch`, with `-` or `_` between words. After `--` every argument
 * is a word. Throws a ConfigProblem.
 */
export function parseFlags(
  argv: readonly string[],
  table: SettingTable,
  aliases: ReadonlyMap<string, Alias> = new Map(),
): CommandLine {
  const byFlag = new Map(Object.entries(table).map(([name, setting]) => [setting.flag, { name, setting }]));
  const written = new Map<string, WrittenFlag>();
  const words: string[] = [];
  const rest = [...argv];
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    if (next === "--help" || next === "-h") return { given: valuesOf(written), words, help: true };
    if (next === "--") return { given: valuesOf(written), words: [...words, ...rest], help: false };
    if (!next.startsWith("-") || next === "-") {
      words.push(next);
      continue;
    }
    const { flag, text } = splitFlag(next);
    const alias = aliases.get(flag);
    const known = byFlag.get(alias?.flag ?? flag);
    if (known === undefined) throw unknownFlag(flag, next, [...byFlag.keys(), ...aliases.keys()]);
    const last = text ?? bareValue(known.setting, alias) ?? valueAfter(flag, alias ?? known.setting, rest);
    const whole = withEarlier(known.setting, written.get(flag)?.text, last);
    // Of two spellings of one setting the later one counts.
    written.delete(flag);
    written.set(flag, { ...known, alias, text: whole });
  }
  return { given: valuesOf(written), words, help: false };
}

/** A flag of the command line, with all that was written for it. */
interface WrittenFlag {
  readonly name: string;
  readonly setting: Setting;
  readonly alias: Alias | undefined;
  readonly text: string;
}

/** A list as if all of it had been written at once, so that an alias and every check see all of it. */
function withEarlier({ unit, replaces }: Setting, earlier: string | undefined, last: string): string {
  if (unit !== "list" || replaces === true || !earlier) return last;
  return last === "" ? earlier : `${earlier},${last}`;
}

function valuesOf(written: ReadonlyMap<string, WrittenFlag>): ReadonlyMap<string, SettingValue> {
  const given = new Map<string, SettingValue>();
  for (const [flag, { name, setting, alias, text }] of written) {
    const where = `${dashed(flag)}=${text}`;
    const value = alias === undefined ? text : alias.rewrite(text);
    if (value === null) throw new ConfigProblem(`${where}: write it as ${alias?.example}`);
    given.set(name, readValue(setting, value, where));
  }
  return given;
}

/** Throws a ConfigProblem if a verb that takes flags only got words. */
export function refuseWords(verb: string, [word]: readonly string[]): void {
  if (word !== undefined) throw new ConfigProblem(`unexpected argument: ${word}; vigil ${verb} takes flags only`);
}

/** A flag with its dashes: one before a letter, two before a word. */
export function dashed(flag: string): string {
  return `${flag.length === 1 ? "-" : "--"}${flag}`;
}

/** Accepts underscores, as kube-controller-manager does (pflag's WordSepNormalizeFunc). */
function splitFlag(argument: string): { flag: string; text: string | null } {
  const written = argument.replace(/^--?/, "");
  const equals = written.indexOf("=");
  const name = equals < 0 ? written : written.slice(0, equals);
  return { flag: name.replaceAll("_", "-"), text: equals < 0 ? null : written.slice(equals + 1) };
}

function bareValue(setting: Setting, alias: Alias | undefined): string | null {
  if (alias !== undefined) return alias.bare ?? null;
  return setting.unit === "switch" ? "true" : null;
}

function valueAfter(flag: string, meant: Setting | Alias, rest: string[]): string {
  const text = rest.shift();
  if (text !== undefined && !text.startsWith("--")) return text;
  const example = "unit" in meant ? exampleOf(meant) : meant.example;
  throw new ConfigProblem(`${dashed(flag)}: needs a value, such as ${dashed(flag)}=${example.split(/ or |\|/)[0]}`);
}

function unknownFlag(flag: string, written: string, flags: readonly string[]): ConfigProblem {
  const meant = nearest(flag, flags);
  const hint = meant === null ? "--help lists them" : `did you mean ${dashed(meant)}?`;
  return new ConfigProblem(`${written}: no such flag; ${hint}`);
}
