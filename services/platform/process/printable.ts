/**
 * Makes text from outside, such as a node's name or a message of the API server, safe for a terminal. Raw control
 * characters could move the cursor, or forge or hide a log line.
 */

/** Control characters, line and paragraph separators, and invisible formats that reverse or hide text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const SHORT: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** The text on one line, with each unprintable character in JavaScript's notation. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => SHORT.get(character) ?? escaped(character.codePointAt(0) ?? 0));
}

/** Whether a text has no unprintable character. */
export function isPrintable(text: string): boolean {
  return text.search(UNPRINTABLE) === -1;
}

/** A JSON document with unprintable characters escaped (JSON.stringify leaves U+007F and above). Keeps newlines. */
export function printableJson(document: string): string {
  return document.replace(UNPRINTABLE, (character) => (character === "\n" ? character : jsonEscape(character)));
}

function jsonEscape(character: string): string {
  return Array.from({ length: character.length }, (_, at) => {
    return `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }).join("");
}

function escaped(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
}
