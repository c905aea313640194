/** Writes the tables of sentences in docs/explain.md from the code. */
import {
  NODE_SENTENCES,
  POD_SENTENCES,
  REQUEST_SENTENCES,
  type SentenceForm,
  TURN_SENTENCES,
} from "../../services/ledger/explain/sentences.ts";

const OPENS = "<!-- sentences: written by npm run fix -->";
const CLOSES = "<!-- end of sentences -->";
const TABLES: readonly (readonly [string, Readonly<Record<string, SentenceForm>>])[] = [
  ["Of a node", NODE_SENTENCES],
  ["Of its zone and its turn", TURN_SENTENCES],
  ["Of the last request, by its outcome", REQUEST_SENTENCES],
  ["Of a pod", POD_SENTENCES],
];

/** Every table in Markdown, under its heading. */
export function explainTables(): string {
  return TABLES.map(([title, forms]) => {
    const rows = Object.values(forms).map(({ when, text }) => `| ${when} | \`${shown(text)}\` |`);
    return [`## ${title}`, "", "| state | sentence |", "|---|---|", ...rows].join("\n");
  }).join("\n\n");
}

/** A page with the tables between its two marks written anew. Throws an Error when a mark is missing. */
export function withExplainTables(page: string): string {
  const from = page.indexOf(OPENS);
  const to = page.indexOf(CLOSES);
  if (from < 0 || to < from) throw new Error(`the page must hold ${OPENS} and, after it, ${CLOSES}`);
  return `${page.slice(0, from + OPENS.length)}\n\n${explainTables()}\n\n${page.slice(to)}`;
}

function shown(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return capital.replaceAll(/\{(\w+)\}/g, "<$1>");
}
