/** Writes docs/reference/verbs.md, every verb with its flags and examples, from the table of verbs. */
import type { Verb } from "../../services/cli/verb.ts";
import { VERBS } from "../../services/cli/verb-list.ts";
import { exampleOf, type Setting, writeValue } from "../../services/platform/config/value.ts";

const HEAD = `# Verbs and flags

<!-- Written by \`npm run fix\` from services/cli/verbs; do not edit. -->

\`vigil <verb> --help\` prints the same in a terminal. A flag is written \`--flag=value\` or \`--flag value\`, a duration as
\`50s\` or \`1m30s\`; its default is in parentheses, and one whose default is \`false\` is set by \`--flag\`. Flags that an
earlier verb has too are listed there.`;

/** An example that lists the values of a flag. */
const CHOICES = /\|/;

/** The page with every verb, in the order of the help. */
export function verbsPage(): string {
  const overview = VERBS.map(({ name }) => `[${name}](#vigil-${name})`).join(", ");
  const owners = new Map<string, string>();
  const sections = VERBS.map((verb) => verbSection(verb, owners));
  return [HEAD, letterLine(), `${overview}.`, ...sections].join("\n\n").concat("\n");
}

/** A verb's section; `owners` says which verb was the first with a row, and gets this verb's new rows. */
function verbSection(verb: Verb, owners: Map<string, string>): string {
  const { name, summary, words, examples, sections, aliases } = verb;
  const usage = ["vigil", name, words, sections.some(hasFlags) ? "[flags]" : ""].filter((part) => part !== "");
  const shown = examples.flatMap(({ command, does }) => [`# ${does}`, command]);
  const spellings = [...aliases]
    .filter(([spelling]) => spelling.length > 1)
    .map(([spelling, { meaning }]) => `- \`--${spelling}\`: ${plainText(meaning)}`);
  const lists = sections.map(({ title, settings }) => ({
    title: sections.length === 1 ? "" : `**${title}**\n\n`,
    own: Object.values(settings).filter((setting) => ownerOf(setting, name, owners) === name),
  }));
  return [
    `## vigil ${name}`,
    `${summary[0]?.toUpperCase()}${plainText(summary.slice(1))}.`,
    `\`\`\`sh\n${[usage.join(" "), ...shown].join("\n")}\n\`\`\``,
    ...lists.flatMap(({ title, own }) => (own.length === 0 ? [] : [`${title}${flagList(own)}`])),
    ...sharedFlags(verb, owners),
    ...(spellings.length === 0 ? [] : [`**Other spellings**\n\n${spellings.join("\n")}`]),
  ].join("\n\n");
}

/** A line with the flags that have a letter, as with kubectl. */
function letterLine(): string {
  const rows = VERBS.flatMap(({ aliases }) => [...aliases]).filter(([spelling]) => spelling.length === 1);
  const meanings = new Map(rows.map(([letter, { flag }]) => [letter, `\`-${letter}\` is \`--${flag}\``]));
  return `${[...meanings.values()].join(", ")}, where a verb has that flag.`;
}

/** The verb whose section has the row of a flag: the first one with exactly that row. */
function ownerOf(setting: Setting, verb: string, owners: Map<string, string>): string {
  const row = flagRow(setting);
  const owner = owners.get(row) ?? verb;
  owners.set(row, owner);
  return owner;
}

/** For each verb that shares flags with this one, a line that names them. */
function sharedFlags({ name, sections }: Verb, owners: ReadonlyMap<string, string>): string[] {
  const settings = sections.flatMap((section) => Object.values(section.settings));
  const shared = Map.groupBy(settings, (setting) => owners.get(flagRow(setting)) ?? name);
  return [...shared]
    .filter(([owner]) => owner !== name)
    .map(
      ([owner, flags]) =>
        `As [vigil ${owner}](#vigil-${owner}): ${flags.map(({ flag }) => `\`--${flag}\``).join(", ")}.`,
    );
}

function hasFlags({ settings }: Verb["sections"][number]): boolean {
  return Object.keys(settings).length > 0;
}

function flagList(settings: readonly Setting[]): string {
  return settings.map(flagRow).join("\n");
}

/** The line of a flag; where neither a default nor the meaning shows what a value looks like, with an example. */
function flagRow(setting: Setting): string {
  const standard = writeValue(setting, setting.standard);
  const example = exampleOf(setting);
  const shown = standard === "" || CHOICES.test(example) ? `--${setting.flag}=${example}` : `--${setting.flag}`;
  return `- \`${shown}\`${standard === "" ? "" : ` (\`${standard}\`)`}: ${plainText(setting.meaning)}`;
}

/** Text that Markdown and the site's templates show as it is. */
function plainText(text: string): string {
  return text.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;");
}
