/**
 * Decodes protobuf bodies, which kubectl's typed commands send (`create`, `debug`, `drain`, `auth can-i`), into JSON.
 * Responses are always JSON, which those commands accept.
 */
import { ENVELOPE_MESSAGE, hasMagic, MAGIC_BYTES } from "../../../platform/kube/protobuf/envelope.ts";
import { bytes, decode, MalformedProtobuf, one, text } from "../../../platform/kube/protobuf/protobuf.ts";
import { recordOf } from "../../../structures/json.ts";
import type { JsonObject } from "../api-objects.ts";
import { KINDS } from "./protobuf-kinds.ts";

const ENVELOPE = {
  1: one("type", { 1: text("apiVersion"), 2: text("kind") }),
  [ENVELOPE_MESSAGE]: bytes("message"),
};

/** The object in a protobuf body; null when it is malformed or of a kind that is not decoded here. */
export function objectInProtobuf(body: Uint8Array): JsonObject | null {
  if (!hasMagic(body)) return null;
  try {
    const { type, message = new Uint8Array() } = decode(body.subarray(MAGIC_BYTES), ENVELOPE);
    const shape = KINDS[String(recordOf(type).kind)];
    if (shape === undefined) return null;
    return { ...recordOf(type), ...decode(message as Uint8Array, shape) } as JsonObject;
  } catch (problem) {
    if (problem instanceof MalformedProtobuf) return null;
    throw problem;
  }
}
