/** Checks that an explanation marks the names of objects: none of these may appear in it as plain text. */
import type { Explanation } from "../../protocols/ledger-reader.ts";

/** What may be a name: the longest run of characters that names are made of. */
const WORD = /[a-z0-9](?:[a-z0-9./-]*[a-z0-9])?/g;

/**
 * What is wrong with the names of an explanation; null for nothing. `known` are nodes, and pods as `namespace/name`.
 */
export function namesProblem({ sentences, names }: Explanation, known: ReadonlySet<string>): string | null {
  for (const [index, text] of sentences.entries()) {
    const marked = names[index] ?? [];
    for (const { 0: word, index: from } of text.matchAll(WORD)) {
      const isMarked = marked.some((name) => name.from === from && name.to === from + word.length);
      if (known.has(word) && !isMarked) return `"${text}" does not say that ${word} is a name`;
    }
    for (const { from, to, kind, namespace, name } of marked) {
      const shown = text.slice(from, to);
      const is = namespace === "" ? name : `${namespace}/${name}`;
      if (kind !== "Zone" && shown !== is) return `"${text}" says that ${JSON.stringify(shown)} is the name ${is}`;
    }
  }
  return null;
}
