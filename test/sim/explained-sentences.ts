/** Parses the sentences of explain: which sentence a text is, and its values. It judges nothing. */
import {
  POLICY_SENTENCES,
  type PolicySentenceName,
  SENTENCES,
  type SentenceName,
} from "../../services/ledger/explain/sentences.ts";

/** Every sentence of the present state of a node or a pod, with and without policies. */
export const PRESENT_SENTENCES = { ...SENTENCES, ...POLICY_SENTENCES } as const;
/** The name of such a sentence. */
export type PresentSentenceName = SentenceName | PolicySentenceName;

/** A parsed sentence. */
export interface ExplainedSentence {
  readonly name: PresentSentenceName;
  readonly text: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The longest first: a sentence may go on where another one ends, as if with a longer value. */
const FORMS = (Object.keys(PRESENT_SENTENCES) as PresentSentenceName[]).map((name) => {
  const parts = PRESENT_SENTENCES[name].split(/\{(\w+)\}/);
  // A value that a sentence repeats is the same at each place.
  const valueAt = (value: string, index: number): string =>
    parts.indexOf(value) < index ? `\\k<${value}>` : `(?<${value}>.+?)`;
  const pattern = parts
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : valueAt(part, index)))
    .join("");
  return { name, pattern: new RegExp(`^${pattern}$`, "is") };
});
FORMS.sort((left, right) => right.pattern.source.length - left.pattern.source.length);

/** The sentence that a text is; null for a text that explain never produces. */
export function explainedSentence(text: string): ExplainedSentence | null {
  for (const { name, pattern } of FORMS) {
    const found = pattern.exec(text);
    if (found !== null) return { name, text, values: { ...found.groups } };
  }
  return null;
}
