/** Reads the sentences of explain back: which one it is, and what was filled into it. It judges nothing. */
import { SENTENCES, type SentenceName } from "../../services/ledger/explain/sentences.ts";

/** A sentence as it was said. */
export interface ExplainedSentence {
  readonly name: SentenceName;
  readonly text: string;
  readonly values: Readonly<Record<string, string>>;
}

const FORMS = (Object.keys(SENTENCES) as SentenceName[]).map((name) => {
  const parts = SENTENCES[name].text.split(/\{(\w+)\}/);
  const pattern = parts
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : `(?<${part}>.+?)`))
    .join("");
  return { name, pattern: new RegExp(`^${pattern}$`, "is") };
});

/** The sentence that a text is; null when it is none of those that explain says. */
export function explainedSentence(text: string): ExplainedSentence | null {
  for (const { name, pattern } of FORMS) {
    const found = pattern.exec(text);
    if (found !== null) return { name, text, values: { ...found.groups } };
  }
  return null;
}
