/**
 * The envelope around every object in Kubernetes protobuf: four bytes, its kind, and its message. Of the kinds only
 * Status is decoded here.
 */
import { type JsonRecord, recordOf } from "../../../structures/json.ts";
import { bytes, decode, MalformedProtobuf, one, type Shape, text } from "./protobuf.ts";
import { STATUS } from "./protobuf-shapes.ts";

/** The Accept header of a list; a server without protobuf answers in JSON. */
export const ACCEPT_PROTOBUF = "application/vnd.kubernetes.protobuf, application/json;q=0.9";

/** The magic bytes: `k8s` and a zero. */
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);
/** Length of the magic bytes. */
export const MAGIC_BYTES = MAGIC.length;

/** Field number of an envelope's message. */
export const ENVELOPE_MESSAGE = 2;

const ENVELOPE: Shape = { 1: one("type", { 2: text("kind") }), [ENVELOPE_MESSAGE]: bytes("message") };

/** Whether an envelope begins here. */
export function hasMagic(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

/** Whether these headers announce Kubernetes protobuf. */
export function isProtobuf(headers: Readonly<Record<string, string>>): boolean {
  return headers["content-type"]?.startsWith("application/vnd.kubernetes.protobuf") === true;
}

/** A refusal's protobuf body as JSON, or a note that it cannot be read. */
export function statusText(body: Uint8Array): string {
  try {
    return JSON.stringify(statusIn(body));
  } catch (error) {
    if (error instanceof MalformedProtobuf) return `a refusal that cannot be read: ${error.message}`;
    throw error;
  }
}

function statusIn(body: Uint8Array): JsonRecord {
  if (!hasMagic(body)) throw new MalformedProtobuf("it has no envelope");
  const { type, message } = decode(body.subarray(MAGIC_BYTES), ENVELOPE);
  return { ...recordOf(type), ...(message instanceof Uint8Array ? decode(message, STATUS) : {}) };
}
