/** The help texts, generated from the table of verbs. */
import { dashed } from "../platform/config/flags.ts";
import { exampleOf, type Setting, writeValue } from "../platform/config/value.ts";
import { filled } from "../platform/process/fill.ts";
import type { Verb } from "./verb.ts";

const WIDTH_MIN = 60;
const INDENT = "      ";

/** The help of the whole command line. */
export function overview(verbs: readonly Verb[]): string {
  const longest = Math.max(...verbs.map(({ name }) => name.length));
  return [
    "vigil - a Kubernetes node lifecycle controller",
    "",
    "Usage: vigil <verb> [flags]",
    "",
    ...verbs.map(({ name, summary }) => `  ${name.padEnd(longest)}  ${summary}`),
    "",
    "vigil <verb> --help shows a verb's flags and examples. See it work: vigil playground",
    "",
  ].join("\n");
}

/** The help of one verb, wrapped to the terminal's width. */
export function verbHelp(verb: Verb, columns: number): string {
  const width = Math.max(WIDTH_MIN, columns);
  const sections = verb.sections.map(({ title, settings }) => ({
    title,
    entries: Object.values(settings).map((setting) => ({ head: flagText(setting), text: meaningOf(setting) })),
  }));
  const aliases = [...verb.aliases].map(([flag, { meaning, example, bare }]) => ({
    head: flag.length === 1 && bare !== undefined ? dashed(flag) : `${dashed(flag)}=${example.split(" or ").join("|")}`,
    text: meaning,
  }));
  const examples = verb.examples.map(({ command, does }) => ({ head: command, text: does }));
  const shown = [
    { title: "Examples", entries: examples },
    ...sections,
    { title: "Other spellings", entries: aliases },
  ].filter(({ entries }) => entries.length > 0);
  return `vigil ${verb.name} - ${verb.summary}\n\nUsage: ${usageOf(verb)}\n\n${shown
    .map(({ title, entries }) => `${title}:\n${entries.map((entry) => entryText(entry, width)).join("")}`)
    .join("\n")}`;
}

function flagText(setting: Setting): string {
  // A switch that is on by default is shown as turned off.
  if (setting.unit === "switch") return setting.standard === true ? `--${setting.flag}=false` : `--${setting.flag}`;
  // An example duration would appear beside another default.
  if (setting.unit === "duration") return `--${setting.flag}=DURATION`;
  const example = exampleOf(setting).split(" or ")[0] ?? "";
  // A shell expands a tilde only at the start of a word.
  return `--${setting.flag}${example.startsWith("~") ? " " : "="}${example}`;
}

function usageOf({ name, words, sections }: Verb): string {
  const flags = sections.some(({ settings }) => Object.keys(settings).length > 0) ? "[flags]" : "";
  return ["vigil", name, words, flags].filter((part) => part !== "").join(" ");
}

function entryText({ head, text }: { head: string; text: string }, width: number): string {
  return `  ${head}\n${filled(text, width - INDENT.length)
    .map((line) => `${INDENT}${line}\n`)
    .join("")}`;
}

function meaningOf(setting: Setting): string {
  const standard = writeValue(setting, setting.standard);
  return standard === "" ? setting.meaning : `${setting.meaning} Default: ${standard}`;
}
