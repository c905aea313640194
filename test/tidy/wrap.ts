/** Breaks comment lines that are too long, so that the rule on line length comes with its fixer. */
import { LINE_CHARACTERS_MAX } from "./shape.rules.ts";

const ONE_LINE_DOC = /^(\s*)\/\*\* (.*) \*\/$/;
const DOC_LINE = /^(\s*)\* (.*)$/;
const LINE_COMMENT = /^(\s*)\/\/ (.*)$/;

/** The text with every comment line that is too long broken between words; code is left as it is. */
export function wrapLongComments(text: string): string {
  return text
    .split("\n")
    .flatMap((line) => (line.length > LINE_CHARACTERS_MAX ? wrapped(line) : [line]))
    .join("\n");
}

function wrapped(line: string): string[] {
  const doc = ONE_LINE_DOC.exec(line);
  if (doc !== null) {
    const [, indent = "", words = ""] = doc;
    return [`${indent}/**`, ...filled(`${indent} * `, words), `${indent} */`];
  }
  const inner = DOC_LINE.exec(line);
  if (inner !== null) return filled(`${inner[1]}* `, inner[2] ?? "");
  const comment = LINE_COMMENT.exec(line);
  return comment === null ? [line] : filled(`${comment[1]}// `, comment[2] ?? "");
}

function filled(prefix: string, words: string): string[] {
  const lines: string[] = [];
  let current = prefix;
  for (const word of words.split(" ")) {
    if (current !== prefix && current.length + word.length > LINE_CHARACTERS_MAX) {
      lines.push(current.trimEnd());
      current = prefix;
    }
    current += `${word} `;
  }
  return [...lines, current.trimEnd()];
}
