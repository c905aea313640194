/**
 * Text from outside, such as a node's name or a message of the API server, as a terminal may show it. Raw control
 * characters could move the cursor, forge a line of the log or hide one.
 */

/** Controls, line and paragraph separators, and the invisible formats that reverse or hide text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const SHORT: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** The text on one line, with each character that a terminal would act upon in the notation of JavaScript. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => SHORT.get(character) ?? escaped(character.codePointAt(0) ?? 0));
}

/** Whether a text has no character that a terminal would act upon. */
export function isPrintable(text: string): boolean {
  return text.search(UNPRINTABLE) === -1;
}

/**
 * A JSON document with each character that a terminal would act upon as an escape. JSON.stringify leaves those from
 * U+007F on as they are. Line breaks between values stay.
 */
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
