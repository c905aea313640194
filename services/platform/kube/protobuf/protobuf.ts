/**
 * Decodes protobuf into the shape of its JSON form: a table names the wanted fields by number, and all others are
 * skipped. It knows no kind of object.
 */
import { INSTANT_MAX, INSTANT_MIN } from "../../../../protocols/bounds.ts";
import { apiMicroTime, apiTime } from "../../../domain/api-time.ts";
import type { JsonRecord } from "../../../structures/json.ts";

/** The wanted fields of a message, by number. */
export type Shape = Readonly<Record<number, Field>>;

/** A field: its JSON name, wire type and decoder. */
interface Field {
  readonly name: string;
  readonly wireType: number;
  /**
   * `end` is where the field ends, `before` the value of an earlier field of the same number; undefined is left out.
   */
  readonly read: (cursor: Cursor, end: number, before: unknown) => unknown;
}

/** The bytes are no message of this shape. */
export class MalformedProtobuf extends Error {}

const VARINT = 0;
const FIXED_64 = 1;
const COUNTED = 2;
const FIXED_32 = 5;
const WIRE_TYPES = 8;
/** A varint holds seven bits in each byte; one of ten bytes is negative. */
const VARINT_BASE = 128;
const VARINT_BITS = 127;
const POSITIVE_BYTES_MAX = 9;
/** The years 0 to 9999, as RFC 3339 can write them. */
const SECONDS_MIN = INSTANT_MIN / 1000;
const SECONDS_MAX = Math.floor(INSTANT_MAX / 1000);

/** The message in these bytes. Throws MalformedProtobuf. */
export function decode(bytes: Uint8Array, shape: Shape): JsonRecord {
  return new Cursor(bytes).message(bytes.byteLength, shape);
}

/** A position in bytes that fields are read from. Reading beyond the end throws MalformedProtobuf. */
export class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  message(end: number, shape: Shape): JsonRecord {
    const record: Record<string, unknown> = {};
    while (this.#at < end) {
      const key = this.varint();
      const wireType = key % WIRE_TYPES;
      const fieldEnd = this.#endOf(wireType, end);
      const field = shape[Math.floor(key / WIRE_TYPES)];
      if (field !== undefined) {
        if (field.wireType !== wireType) throw new MalformedProtobuf(`${field.name} has the wire type ${wireType}`);
        const value = field.read(this, fieldEnd, record[field.name]);
        if (value !== undefined) record[field.name] = value;
      } else if (wireType === VARINT) this.varint();
      else this.#at = fieldEnd;
    }
    if (this.#at > end) throw new MalformedProtobuf("a field is longer than its message");
    return record;
  }

  /** A signed 64-bit integer, rounded as JSON.parse rounds it. */
  varint(): number {
    const start = this.#at;
    let value = 0;
    for (let factor = 1, count = 0; count < POSITIVE_BYTES_MAX; count++, factor *= VARINT_BASE) {
      const byte = this.#byte();
      if (byte < VARINT_BASE) return value + byte * factor;
      value += (byte & VARINT_BITS) * factor;
    }
    if (this.#byte() !== 1) throw new MalformedProtobuf("a number has more than 64 bits");
    return this.#negative(start);
  }

  /** The number and length of a length-delimited field, the only kind in lists and envelopes. */
  head(): { readonly number: number; readonly length: number } {
    const key = this.varint();
    if (key % WIRE_TYPES !== COUNTED) throw new MalformedProtobuf(`wire type ${key % WIRE_TYPES} in a list`);
    const length = this.varint();
    if (length < 0) throw new MalformedProtobuf("a field has less than no bytes");
    return { number: Math.floor(key / WIRE_TYPES), length };
  }

  text(end: number): string {
    const text = this.#bytes.toString("utf8", this.#at, end);
    this.#at = end;
    return text;
  }

  /** Whether the bytes up to `end` contain these; otherwise they are skipped. */
  seek(end: number, wanted: Buffer): boolean {
    if (this.#bytes.subarray(this.#at, end).includes(wanted)) return true;
    this.#at = end;
    return false;
  }

  bytes(end: number): Uint8Array {
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new MalformedProtobuf("the message is cut off");
    return byte;
  }

  /** Computed from the complement, which is small where the number is, so that nothing is rounded. */
  #negative(start: number): number {
    let complement = 0;
    for (let index = 0, factor = 1; index < POSITIVE_BYTES_MAX; index++, factor *= VARINT_BASE) {
      complement += (~(this.#bytes[start + index] ?? 0) & VARINT_BITS) * factor;
    }
    return -1 - complement;
  }

  /** The end of the field whose key was just read. */
  #endOf(wireType: number, end: number): number {
    if (wireType === VARINT) return end;
    const length = wireType === COUNTED ? this.varint() : fixedLength(wireType);
    if (length < 0 || length > end - this.#at) throw new MalformedProtobuf("a field is longer than its message");
    return this.#at + length;
  }
}

function fixedLength(wireType: number): number {
  if (wireType === FIXED_64) return 8;
  if (wireType === FIXED_32) return 4;
  throw new MalformedProtobuf(`there is no wire type ${wireType}`);
}

/** A string; left out when empty, as in JSON. */
export function text(name: string): Field {
  return { name, wireType: COUNTED, read: (cursor, end) => cursor.text(end) || undefined };
}

/** An integer. */
export function integer(name: string): Field {
  return { name, wireType: VARINT, read: (cursor) => cursor.varint() };
}

/** A boolean. */
export function truth(name: string): Field {
  return { name, wireType: VARINT, read: (cursor) => cursor.varint() !== 0 };
}

/** Bytes that are a message of their own; a view, not a copy. */
export function bytes(name: string): Field {
  return { name, wireType: COUNTED, read: (cursor, end) => cursor.bytes(end) };
}

/** One message. */
export function one(name: string, shape: Shape): Field {
  return { name, wireType: COUNTED, read: (cursor, end) => cursor.message(end, shape) };
}

/** A list of messages. */
export function many(name: string, shape: Shape): Field {
  const read: Field["read"] = (cursor, end, before) => {
    const list = Array.isArray(before) ? before : [];
    list.push(cursor.message(end, shape));
    return list;
  };
  return { name, wireType: COUNTED, read };
}

const ENTRY: Shape = { 1: text("key"), 2: text("value") };

/** A map of strings. */
export function labels(name: string): Field {
  const read: Field["read"] = (cursor, end, before) => {
    const { key = "", value = "" } = cursor.message(end, ENTRY);
    return Object.assign(before ?? {}, { [String(key)]: value });
  };
  return { name, wireType: COUNTED, read };
}

/** The entry of a map of strings with this key; other entries are skipped undecoded. */
export function label(name: string, key: string): Field {
  const { read, wireType } = labels(name);
  const wanted = Buffer.from(key);
  return {
    name,
    wireType,
    read: (cursor, end, before) => (cursor.seek(end, wanted) ? read(cursor, end, before) : before),
  };
}

const TIMESTAMP: Shape = { 1: integer("seconds"), 2: integer("nanos") };

/** A metav1.Time as its JSON text in whole seconds; the zero time is left out. */
export function time(name: string): Field {
  return instant(name, secondText);
}

/** A metav1.MicroTime as its text in JSON. */
export function microTime(name: string): Field {
  return instant(name, (seconds, nanos) => apiMicroTime(seconds * 1000 + Math.floor(nanos / 1000) / 1000));
}

const MINUTE_SECONDS = 60;
/** The last minute formatted: most times of an object lie in one, and formatting takes a µs. */
const minute = { startSeconds: Number.NaN, text: "" };

function secondText(seconds: number): string {
  const second = ((seconds % MINUTE_SECONDS) + MINUTE_SECONDS) % MINUTE_SECONDS;
  if (minute.startSeconds !== seconds - second) {
    minute.startSeconds = seconds - second;
    minute.text = apiTime(minute.startSeconds * 1000).slice(0, -"00Z".length);
  }
  return `${minute.text}${second < 10 ? "0" : ""}${second}Z`;
}

function instant(name: string, write: (seconds: number, nanos: number) => string): Field {
  const read: Field["read"] = (cursor, end) => {
    const { seconds, nanos } = cursor.message(end, TIMESTAMP);
    if (typeof seconds !== "number") return undefined;
    if (seconds < SECONDS_MIN || seconds > SECONDS_MAX) return "beyond all calendars";
    return write(seconds, typeof nanos === "number" ? nanos : 0);
  };
  return { name, wireType: COUNTED, read };
}
