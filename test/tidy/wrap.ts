/** Breaks comment lines that are too long, so that the rule on line length comes with its fixer. */
import { LINE_CHARACTERS_MAX } from "./shape.rules.ts";

const ONE_LINE_DOC = /^(\s*)\/\*\* (.*) \*\/$/;
const TEXT_LINE = /^(\s*(?:\*|\/\/) )(\S.*)$/;
/** What begins a paragraph of its own: a list item, a table row, a heading, code. */
const OWN_PARAGRAPH = /^([-*|#`@]|\d+\.)/;

/** The text with every comment line that is too long broken between words, what does not fit going before the next. */
export function wrapLongComments(text: string): string {
  const lines = text.split("\n");
  const done: string[] = [];
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    const doc = line.length > LINE_CHARACTERS_MAX ? ONE_LINE_DOC.exec(line) : null;
    if (doc !== null) {
      const [, indent = "", words = ""] = doc;
      done.push(`${indent}/**`);
      lines.unshift(`${indent} * ${words}`, `${indent} */`);
      continue;
    }
    const [kept, rest] = broken(line);
    done.push(kept);
    if (rest !== null) lines.unshift(...joined(rest, lines));
  }
  return done.join("\n");
}

/** A line cut at its limit, and what is left over with the prefix of a line of its own. */
function broken(line: string): [string, string | null] {
  const [, prefix = "", words = ""] = TEXT_LINE.exec(line) ?? [];
  const cut = words.lastIndexOf(" ", LINE_CHARACTERS_MAX - prefix.length);
  if (line.length <= LINE_CHARACTERS_MAX || cut <= 0) return [line, null];
  return [prefix + words.slice(0, cut), prefix + words.slice(cut + 1)];
}

/**
 * What is left over, joined with the next line when that goes on with the same paragraph and is taken from the rest.
 */
function joined(left: string, rest: string[]): string[] {
  const prefix = TEXT_LINE.exec(left)?.[1];
  const [, nextPrefix, words = ""] = TEXT_LINE.exec(rest[0] ?? "") ?? [];
  if (nextPrefix !== prefix || OWN_PARAGRAPH.test(words)) return [left];
  rest.shift();
  return [`${left} ${words}`];
}
