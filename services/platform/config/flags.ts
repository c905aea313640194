/** A command line read against a table of settings. Pure: it neither exits nor prints. */
import { nearest } from "./suggest.ts";
import { ConfigProblem, exampleOf, readValue, type Setting, type SettingTable, type SettingValue } from "./value.ts";

/** What a command line said. */
export interface CommandLine {
  /** Values by setting name, of the flags that were given; the last one counts. */
  readonly given: ReadonlyMap<string, SettingValue>;
  /** The words that are no flags. */
  readonly words: readonly string[];
  /** Whether help was asked for; nothing else is checked then. */
  readonly help: boolean;
}

/** Another spelling of a flag. */
export interface Alias {
  /** The flag it stands for. */
  readonly flag: string;
  readonly meaning: string;
  readonly example: string;
  /** The value it has when none is written; absent when it needs one. */
  readonly bare?: string;
  /** The value for the flag it stands for; null when it has none. */
  readonly rewrite: (value: string) => string | null;
}

/**
 * Reads `--flag=value`, `--flag value` and a bare `--switch`, with `-` or `_` between the words of a flag; after `--`
 * everything is a word. Throws a ConfigProblem.
 */
export function parseFlags(
  argv: readonly string[],
  table: SettingTable,
  aliases: ReadonlyMap<string, Alias> = new Map(),
): CommandLine {
  const byFlag = new Map(Object.entries(table).map(([name, setting]) => [setting.flag, { name, setting }]));
  const given = new Map<string, SettingValue>();
  const words: string[] = [];
  const rest = [...argv];
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    if (next === "--help" || next === "-h") return { given, words, help: true };
    if (next === "--") return { given, words: [...words, ...rest], help: false };
    if (!next.startsWith("-") || next === "-") {
      words.push(next);
      continue;
    }
    const { flag, text } = splitFlag(next);
    const alias = aliases.get(flag);
    const known = byFlag.get(alias?.flag ?? flag);
    if (known === undefined) throw unknownFlag(flag, next, [...byFlag.keys(), ...aliases.keys()]);
    const written = text ?? bareValue(known.setting, alias) ?? valueAfter(flag, alias ?? known.setting, rest);
    const where = `${dashed(flag)}=${written}`;
    const value = alias === undefined ? written : alias.rewrite(written);
    if (value === null) throw new ConfigProblem(`${where}: write it as ${alias?.example}`);
    given.set(known.name, readValue(known.setting, value, where));
  }
  return { given, words, help: false };
}

/** A flag with its dashes: one before a letter, two before a word. */
export function dashed(flag: string): string {
  return `${flag.length === 1 ? "-" : "--"}${flag}`;
}

/** A flag may be written with underscores, as kube-controller-manager takes it (pflag's WordSepNormalizeFunc). */
function splitFlag(argument: string): { flag: string; text: string | null } {
  const said = argument.replace(/^--?/, "");
  const equals = said.indexOf("=");
  const name = equals < 0 ? said : said.slice(0, equals);
  return { flag: name.replaceAll("_", "-"), text: equals < 0 ? null : said.slice(equals + 1) };
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
