/** Writes docs/reference/verbs.md, every verb with its flags and examples, from the table of verbs. */
import type { Verb } from "../../services/cli/verb.ts";
import { VERBS } from "../../services/cli/verb-list.ts";
import { exampleOf, type Setting, writeValue } from "../../services/platform/config/value.ts";

const HEAD = `# Verbs and flags

<!-- Written by \`npm run fix\` from services/cli/verbs; do not edit. -->

\`vigil <verb> --help\` prints the same in a terminal. A flag is written \`--flag=value\` or \`--flag value\`.`;

/** The page with every verb, in the order of the help. */
export function verbsPage(): string {
  const overview = VERBS.map(({ name, summary }) => `| [${name}](#vigil-${name}) | ${textCell(summary)} |`);
  return [HEAD, ["| verb | what it does |", "|---|---|", ...overview].join("\n"), ...VERBS.map(verbSection)]
    .join("\n\n")
    .concat("\n");
}

function verbSection(verb: Verb): string {
  const { name, summary, words, examples, sections, aliases } = verb;
  const usage = ["vigil", name, words, sections.some(hasFlags) ? "[flags]" : ""].filter((part) => part !== "");
  const shown = examples.flatMap(({ command, does }) => [`# ${does}`, command]);
  const spellings = [...aliases].map(
    ([spelling, { meaning }]) => `| \`${spelling.length === 1 ? "-" : "--"}${spelling}\` | ${textCell(meaning)} |`,
  );
  return [
    `## vigil ${name}`,
    `${summary[0]?.toUpperCase()}${textCell(summary.slice(1))}.`,
    `\`\`\`sh\n${usage.join(" ")}\n\`\`\``,
    ...(shown.length === 0 ? [] : [`\`\`\`sh\n${shown.join("\n")}\n\`\`\``]),
    ...sections.filter(hasFlags).map(({ title, settings }) => `**${title}**\n\n${flagTable(Object.values(settings))}`),
    ...(spellings.length === 0
      ? []
      : [["**Other spellings**", "", "| spelling | meaning |", "|---|---|", ...spellings].join("\n")]),
  ].join("\n\n");
}

function hasFlags({ settings }: Verb["sections"][number]): boolean {
  return Object.keys(settings).length > 0;
}

function flagTable(settings: readonly Setting[]): string {
  const rows = settings.map((setting) => {
    const standard = writeValue(setting, setting.standard);
    const cells = [codeCell(`--${setting.flag}`), codeCell(exampleOf(setting)), codeCell(standard)];
    return `| ${cells.join(" | ")} | ${textCell(setting.meaning)} |`;
  });
  return ["| flag | example | default | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function codeCell(text: string): string {
  return text === "" ? "" : `\`${text.replaceAll("|", "\\|")}\``;
}

/** Text that Markdown and the site's templates show as it is. */
function textCell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;");
}
