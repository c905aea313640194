/** Splits a protobuf list response into its items while the bytes arrive, and decodes the wanted fields of each. */
import type { JsonRecord } from "../../../structures/json.ts";
import { ENVELOPE_MESSAGE, hasMagic, MAGIC_BYTES } from "./envelope.ts";
import { Cursor, decode, MalformedProtobuf, type Shape } from "./protobuf.ts";
import { LIST_METADATA } from "./protobuf-shapes.ts";

const METADATA = 1;
const ITEM = 2;
/** The last byte of a varint is smaller than this. */
const LAST_BYTE_END = 0x80;

/** Splits one list response into its items and its metadata. Throws MalformedProtobuf. */
export class ProtobufList {
  readonly #shape: Shape;
  readonly #item: (item: JsonRecord) => void;
  /** Unread bytes, and how many are needed to go on. */
  #open: Uint8Array[] = [];
  #openBytes = 0;
  #neededBytes = MAGIC_BYTES;
  #begun = false;
  /** Bytes of the list still to come; null before the list begins. */
  #listBytes: number | null = null;
  #metadata: JsonRecord = {};

  /** `item` receives each item in the shape of JSON, in order. */
  constructor(shape: Shape, item: (item: JsonRecord) => void) {
    this.#shape = shape;
    this.#item = item;
  }

  /** Adds the next bytes; keeps the chunk while an item in it is incomplete. */
  push(chunk: Uint8Array): void {
    this.#open.push(chunk);
    this.#openBytes += chunk.length;
    if (this.#openBytes < this.#neededBytes) return;
    const bytes = this.#open.length === 1 ? chunk : Buffer.concat(this.#open);
    const rest = bytes.subarray(this.#read(bytes));
    this.#open = [rest];
    this.#openBytes = rest.length;
  }

  /** The metadata of the list, as far as it has arrived. */
  get received(): JsonRecord {
    return this.#metadata;
  }

  /** Ends the response and returns the metadata of its list. */
  metadata(): JsonRecord {
    if (this.#listBytes !== 0 || this.#openBytes > 0) throw new MalformedProtobuf("the list is cut off");
    return this.#metadata;
  }

  /** Reads every complete field, and returns the offset of the first incomplete one. */
  #read(bytes: Uint8Array): number {
    let at = this.#begun ? 0 : MAGIC_BYTES;
    if (!this.#begun && !hasMagic(bytes)) throw new MalformedProtobuf("it has no envelope");
    this.#begun = true;
    for (;;) {
      const head = headAt(bytes, at);
      if (head === null) return this.#stop(at, bytes.length - at + 1);
      if (this.#listBytes === null && head.number === ENVELOPE_MESSAGE) {
        this.#listBytes = head.end - head.start;
        at = head.start;
      } else if (head.end > bytes.length) return this.#stop(at, head.end - at);
      else at = this.#field(bytes, at, head);
    }
  }

  #stop(at: number, neededBytes: number): number {
    this.#neededBytes = neededBytes;
    return at;
  }

  #field(bytes: Uint8Array, at: number, { number, start, end }: Head): number {
    // The envelope's fields before and behind the list are skipped.
    if (this.#listBytes === null || this.#listBytes === 0) return end;
    this.#listBytes -= end - at;
    if (this.#listBytes < 0) throw new MalformedProtobuf("an item is longer than its list");
    if (number === ITEM) this.#item(decode(bytes.subarray(start, end), this.#shape));
    else if (number === METADATA) this.#metadata = decode(bytes.subarray(start, end), LIST_METADATA);
    return end;
  }
}

interface Head {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}

/** The head of the field that begins here; null when it is incomplete. */
function headAt(bytes: Uint8Array, at: number): Head | null {
  let left = 2;
  let start = at;
  while (left > 0 && start < bytes.length) if ((bytes[start++] ?? 0) < LAST_BYTE_END) left--;
  if (left > 0) return null;
  const { number, length } = new Cursor(bytes.subarray(at, start)).head();
  return { number, start, end: start + length };
}
