/**
 * Splits a JSON list response into its items while the bytes arrive. A server sends a first list of 50,000 pods as one
 * body of 150 MB, because `limit` does not apply at resourceVersion=0. Parsing that body whole would cost several times
 * as much memory.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** How the list of items begins in the top object. */
const ITEMS_KEY = /"items"\s*:\s*\[$/;
/** The nesting depth of an item: inside the top object and inside its list. */
const ITEM_DEPTH = 2;

/** Splits one list response into its items and the rest. */
export class ListScanner {
  readonly #item: (json: string) => void;
  #depth = 0;
  #inText = false;
  #skip = 0;
  #inItems = false;
  #openItem: Uint8Array[] = [];
  #rest = "";

  /** `item` gets the JSON of each item, in order. */
  constructor(item: (json: string) => void) {
    this.#item = item;
  }

  /** Adds the next bytes. The scanner keeps the chunk while an item in it is incomplete. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    let start = 0;
    let index = this.#skip;
    while (index < chunk.length) {
      if (this.#inText) {
        index = textEnd(chunk, index);
        this.#inText = index >= chunk.length;
      } else {
        const byte = chunk[index];
        if (byte === QUOTE) this.#inText = true;
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) start = this.#opened(chunk, start, index);
        else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) start = this.#closed(chunk, start, index);
      }
      index++;
    }
    // A trailing backslash also escapes the first byte of the next chunk.
    this.#skip = Math.max(0, index - 1 - chunk.length);
    this.#keep(chunk, start);
  }

  /** The response without its items, as JSON. */
  rest(): string {
    return this.#rest;
  }

  #opened(chunk: Uint8Array, start: number, index: number): number {
    const depth = this.#depth++;
    if (this.#inItems) return depth === ITEM_DEPTH ? index : start;
    if (depth !== 1 || chunk[index] !== OPEN_BRACKET) return start;
    this.#rest += text(chunk.subarray(start, index + 1));
    this.#inItems = ITEMS_KEY.test(this.#rest);
    return index + 1;
  }

  #closed(chunk: Uint8Array, start: number, index: number): number {
    const depth = --this.#depth;
    if (!this.#inItems || depth > ITEM_DEPTH) return start;
    if (depth < ITEM_DEPTH) {
      this.#inItems = false;
      return index;
    }
    const piece = chunk.subarray(start, index + 1);
    this.#item(text(this.#openItem.length === 0 ? piece : Buffer.concat([...this.#openItem, piece])));
    this.#openItem = [];
    return index + 1;
  }

  #keep(chunk: Uint8Array, start: number): void {
    if (!this.#inItems) this.#rest += text(chunk.subarray(start));
    else if (this.#depth > ITEM_DEPTH) this.#openItem.push(chunk.subarray(start));
  }
}

/**
 * The index of the closing quote of a string that is open at `from`. Without one: the end of the chunk, plus one when
 * the last byte is a backslash.
 */
function textEnd(chunk: Uint8Array, from: number): number {
  let index = from;
  while (index < chunk.length && chunk[index] !== QUOTE) index += chunk[index] === BACKSLASH ? 2 : 1;
  return index;
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
