/** Generates the sentences of docs/explain.md from the code. */
import {
  EXPLAINED_POLICY_SENTENCES,
  NODE_SENTENCES,
  POD_SENTENCES,
  POLICY_SENTENCES,
  QUEUE_SENTENCES,
  REQUEST_SENTENCES,
  TIMELINE_SENTENCES,
  ZONE_SENTENCES,
} from "../../../services/ledger/explain/sentences.ts";
import { SAID_WHEN } from "./explain-states.ts";

const OPENS = "<!-- sentences: written by npm run fix -->";
const CLOSES = "<!-- end of sentences -->";

/** A section of the page. */
interface Section {
  readonly title: string;
  readonly forms: Readonly<Partial<Record<keyof typeof SAID_WHEN, string>>>;
  /** Whether its sentences begin with a capital letter. */
  readonly isWhole: boolean;
}

const ofState = (title: string, forms: Section["forms"]): Section => ({ title, forms, isWhole: true });
const SECTIONS: readonly Section[] = [
  ofState("Node", NODE_SENTENCES),
  ofState("Zone", ZONE_SENTENCES),
  ofState("Policy", EXPLAINED_POLICY_SENTENCES),
  ofState("A node's zone and place in the eviction queue", QUEUE_SENTENCES),
  ofState("Policies and freezes", POLICY_SENTENCES),
  ofState("Last request", REQUEST_SENTENCES),
  ofState("Pod", POD_SENTENCES),
  { title: "Timeline", forms: TIMELINE_SENTENCES, isWhole: false },
];

/** Every sentence with its state or message, under headings. */
export function explainSentences(): string {
  return SECTIONS.map(({ title, forms, isWhole }) => {
    const said = Object.entries(forms) as [keyof typeof SAID_WHEN, string][];
    const rows = said.map(([name, text]) => `- ${SAID_WHEN[name]}: \`${shown(text, isWhole)}\``);
    return [`## ${title}`, "", ...rows].join("\n");
  }).join("\n\n");
}

/** Replaces the sentences between the two markers of a page. Throws an Error when a marker is missing. */
export function withExplainSentences(page: string): string {
  const from = page.indexOf(OPENS);
  const to = page.indexOf(CLOSES);
  if (from < 0 || to < from) throw new Error(`the page needs ${OPENS} and, after it, ${CLOSES}`);
  return `${page.slice(0, from + OPENS.length)}\n\n${explainSentences()}\n\n${page.slice(to)}`;
}

function shown(text: string, isWhole: boolean): string {
  const begun = isWhole ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return begun.replaceAll(/\{(\w+)\}/g, "<$1>");
}
