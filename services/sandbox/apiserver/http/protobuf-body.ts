/**
 * As much Kubernetes protobuf as kubectl's typed commands send: `create namespace`, `create serviceaccount`, `drain`.
 * A pure translation into JSON; answers are JSON always, which those commands accept.
 */
import type { Json, JsonObject } from "../api-objects.ts";

/** How the fields of one message are named and read, by their numbers. */
interface Message {
  readonly [number: number]: { readonly name: string; readonly as: "text" | "integer" | "labels" | Message };
}

const preconditions: Message = { 1: { name: "uid", as: "text" }, 2: { name: "resourceVersion", as: "text" } };

const deleteOptions: Message = {
  1: { name: "gracePeriodSeconds", as: "integer" },
  2: { name: "preconditions", as: preconditions },
  4: { name: "propagationPolicy", as: "text" },
};

const metadata: Message = {
  1: { name: "name", as: "text" },
  2: { name: "generateName", as: "text" },
  3: { name: "namespace", as: "text" },
  11: { name: "labels", as: "labels" },
  12: { name: "annotations", as: "labels" },
};

const named: Message = { 1: { name: "metadata", as: metadata } };

/** The kinds whose every field that matters here is known. */
const KINDS: Readonly<Record<string, Message>> = {
  Namespace: named,
  ServiceAccount: named,
  Eviction: { ...named, 2: { name: "deleteOptions", as: deleteOptions } },
  DeleteOptions: deleteOptions,
};

const typeMeta: Message = { 1: { name: "apiVersion", as: "text" }, 2: { name: "kind", as: "text" } };

/** The four bytes before every Kubernetes object in protobuf. */
const MAGIC = "k8s\0";

/** The object in a protobuf body; null when it is none, or of a kind that is not known here. */
export function objectInProtobuf(body: Uint8Array): JsonObject | null {
  if (new TextDecoder("latin1").decode(body.subarray(0, MAGIC.length)) !== MAGIC) return null;
  const envelope = [...fieldsOf(body.subarray(MAGIC.length))];
  const type = read(envelope.find(({ number }) => number === 1)?.bytes ?? new Uint8Array(), typeMeta);
  const message = KINDS[typeof type.kind === "string" ? type.kind : ""];
  if (message === undefined) return null;
  return { ...type, ...read(envelope.find(({ number }) => number === 2)?.bytes ?? new Uint8Array(), message) };
}

function read(bytes: Uint8Array, message: Message): JsonObject {
  const object: JsonObject = {};
  for (const field of fieldsOf(bytes)) {
    const known = message[field.number];
    if (known === undefined) continue;
    const { name, as } = known;
    if (as === "labels") object[name] = { ...(object[name] as JsonObject | undefined), ...label(field.bytes) };
    else object[name] = valueIn(field, as);
  }
  return object;
}

function valueIn(field: Field, as: "text" | "integer" | Message): Json {
  if (as === "integer") return field.integer;
  return as === "text" ? text(field.bytes) : read(field.bytes, as);
}

/** One entry of a map from text to text. */
function label(bytes: Uint8Array): JsonObject {
  const { key = "", value = "" } = read(bytes, { 1: { name: "key", as: "text" }, 2: { name: "value", as: "text" } });
  return { [String(key as string)]: value };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

interface Field {
  readonly number: number;
  readonly integer: number;
  readonly bytes: Uint8Array;
}

/** Fixed widths of the wire types that are neither a varint nor counted bytes. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

function* fieldsOf(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; at < bytes.length; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const key = varint();
    const wireType = key % 8;
    const integer = wireType === 0 ? varint() : 0;
    const length = wireType === 2 ? varint() : (FIXED_BYTES[wireType] ?? 0);
    yield { number: Math.floor(key / 8), integer, bytes: bytes.subarray(at, at + length) };
    at += length;
  }
}
