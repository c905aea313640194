/** Parses and prints the value of one setting. */
import { DURATION_MS_MAX, formatDuration, parseDuration } from "../../domain/duration.ts";
import { nearest } from "../../domain/suggest.ts";

/** The unit of a setting, which decides how it is written. */
export type SettingUnit = "duration" | "perSecond" | "fraction" | "count" | "switch" | "choice" | "text" | "list";

/** The value of a setting; a duration is a number of milliseconds. */
export type SettingValue = number | boolean | string | readonly string[];

/** One setting: its flag without dashes, its default and its meaning. A tunable of the profile is one. */
export interface Setting<V extends SettingValue = SettingValue> {
  readonly unit: SettingUnit;
  readonly flag: string;
  readonly standard: V;
  readonly meaning: string;
  /** Allowed values of a choice, or allowed items of a list; after one that ends with `=` any text may follow. */
  readonly choices?: readonly string[];
  /** Smallest allowed number; 0 by default. */
  readonly least?: number;
  /** Largest allowed number; by default that of the unit, if it has one. */
  readonly most?: number;
  /** An example value for help and errors; by default one of the unit. */
  readonly example?: string;
  /** Whether a list that is given again replaces the earlier one, as this flag of kubelet's does; others add to it. */
  readonly replaces?: true;
}

/** Settings by their name in code. */
export type SettingTable = Readonly<Record<string, Setting>>;

/** A value for every setting of a table. */
export type ValuesOf<T extends SettingTable> = { -readonly [N in keyof T]: T[N] extends Setting<infer V> ? V : never };

/** A setting that cannot be used, in one line with its name, value and fix. */
export class ConfigProblem extends Error {}

/** Examples of the units whose default does not show how they are written. */
const EXAMPLES: Partial<Record<SettingUnit, string>> = {
  duration: "50s or 1m30s",
  switch: "true or false",
  text: "text",
  list: "a,b",
};
/** The most of a unit: no message holds a higher rate, and no instant lies further ahead. */
const MOST: Partial<Record<SettingUnit, number>> = { duration: DURATION_MS_MAX, perSecond: 1e9 };
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** An example value of a setting. */
export function exampleOf(setting: Setting): string {
  if (setting.unit === "choice") return (setting.choices ?? []).filter((choice) => choice !== "").join("|");
  return setting.example ?? EXAMPLES[setting.unit] ?? writeValue(setting, setting.standard);
}

/** Parses a value; `where` names the place, such as `--flag=4x`. Throws a ConfigProblem. */
export function readValue(setting: Setting, text: string, where: string): SettingValue {
  switch (setting.unit) {
    case "duration":
      return inRange(setting, parseDuration(text) ?? refuse(where, "not a duration", setting), where);
    case "perSecond":
    case "fraction":
    case "count":
      return inRange(setting, NUMBER.test(text) ? Number(text) : refuse(where, "not a number", setting), where);
    case "switch":
      if (text !== "true" && text !== "false") refuse(where, "not a switch", setting);
      return text === "true";
    case "choice":
      return chosen(setting, text, where);
    case "text":
      return text;
    case "list":
      return text === "" ? [] : text.split(",").map((item) => chosen(setting, item.trim(), where));
  }
}

/** A value as text that `readValue` reads back. */
export function writeValue(setting: Setting, value: SettingValue): string {
  if (setting.unit === "duration" && typeof value === "number") return formatDuration(value);
  return typeof value === "object" ? value.join(",") : String(value);
}

function inRange(setting: Setting, value: number, where: string): number {
  const least = setting.least ?? 0;
  if (!Number.isFinite(value)) refuse(where, "too large", setting);
  const most = setting.most ?? MOST[setting.unit];
  if (most !== undefined && value > most) {
    throw new ConfigProblem(`${where}: must be at most ${writeValue(setting, most)}`);
  }
  if (value < least) throw new ConfigProblem(`${where}: must be at least ${writeValue(setting, least)}`);
  if (setting.unit === "fraction" && value > 1) throw new ConfigProblem(`${where}: must be between 0 and 1`);
  if (setting.unit === "count" && !Number.isSafeInteger(value)) refuse(where, "not a whole number", setting);
  return value;
}

function chosen(setting: Setting, text: string, where: string): string {
  const { choices } = setting;
  if (choices === undefined || choices.some((choice) => isChosen(choice, text))) return text;
  const meant = nearest(text, choices);
  const hint = meant === null ? "" : `; did you mean ${meant}?`;
  const shown = choices.map((choice) => choice || '""').join(", ");
  throw new ConfigProblem(`${where}: ${JSON.stringify(text)} is none of ${shown}${hint}`);
}

function isChosen(choice: string, text: string): boolean {
  if (!choice.endsWith("=")) return choice === text;
  return text.startsWith(choice) && text.length > choice.length;
}

function refuse(where: string, fault: string, setting: Setting): never {
  throw new ConfigProblem(`${where}: ${fault}; write it as ${exampleOf(setting)}`);
}
