/** Parses the sentences of explain: which sentence a text is, and its values. It judges nothing. */
import { SENTENCES, type SentenceName } from "../../services/ledger/explain/sentences.ts";

/** A parsed sentence. */
export interface ExplainedSentence {
  readonly name: SentenceName;
  readonly text: string;
  readonly values: Readonly<Record<string, string>>;
}

const FORMS = (Object.keys(SENTENCES) as SentenceName[]).map((name) => {
  const parts = SENTENCES[name].split(/\{(\w+)\}/);
  const pattern = parts
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : `(?<${part}>.+?)`))
    .join("");
  return { name, pattern: new RegExp(`^${pattern}$`, "is") };
});

/** The sentence that a text is; null for a text that explain never produces. */
export function explainedSentence(text: string): ExplainedSentence | null {
  for (const { name, pattern } of FORMS) {
    const found = pattern.exec(text);
    if (found !== null) return { name, text, values: { ...found.groups } };
  }
  return null;
}
