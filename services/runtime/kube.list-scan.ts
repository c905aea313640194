/**
 * Takes the items out of a list answer while its bytes arrive; reading them is the caller's work. A server answers a
 * first
 * list of 50,000 pods in one piece of 150 MB (limit does not hold for resourceVersion=0), and read whole that costs
 * several times as much memory.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** What stands before the list of items, in the top object. */
const ITEMS_KEY = /"items"\s*:\s*\[$/;
/** How deep an item lies: in the top object and in its list. */
const ITEM_DEPTH = 2;

/** Splits one list answer into its items and the rest. */
export class ListScanner {
  readonly #item: (json: string) => void;
  #depth = 0;
  #inText = false;
  #escaped = false;
  #inItems = false;
  #openItem: Uint8Array[] = [];
  #rest = "";

  /** `item` gets the JSON of each item, in order. */
  constructor(item: (json: string) => void) {
    this.#item = item;
  }

  /** Takes the next bytes of the answer; the chunk is kept while an item in it is open. */
  push(chunk: Uint8Array): void {
    let start = 0;
    let inText = this.#inText;
    let escaped = this.#escaped;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index];
      if (inText) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) start = this.#opened(chunk, start, index);
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) start = this.#closed(chunk, start, index);
    }
    this.#inText = inText;
    this.#escaped = escaped;
    this.#keep(chunk, start);
  }

  /** The answer without its items, as JSON. */
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

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
