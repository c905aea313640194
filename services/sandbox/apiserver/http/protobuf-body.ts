/**
 * Decodes the few protobuf bodies that kubectl's typed commands send (`create namespace`, `create serviceaccount`,
 * `drain`) into JSON. Responses are always JSON, which those commands accept.
 */
import { ENVELOPE_MESSAGE, hasMagic, MAGIC_BYTES } from "../../../platform/kube/protobuf/envelope.ts";
import {
  bytes,
  decode,
  integer,
  labels,
  MalformedProtobuf,
  one,
  type Shape,
  text,
} from "../../../platform/kube/protobuf/protobuf.ts";
import { recordOf } from "../../../platform/structures/json.ts";
import type { JsonObject } from "../api-objects.ts";

const DELETE_OPTIONS: Shape = {
  1: integer("gracePeriodSeconds"),
  2: one("preconditions", { 1: text("uid"), 2: text("resourceVersion") }),
  4: text("propagationPolicy"),
};
const METADATA: Shape = {
  1: text("name"),
  2: text("generateName"),
  3: text("namespace"),
  11: labels("labels"),
  12: labels("annotations"),
};
const NAMED: Shape = { 1: one("metadata", METADATA) };

/** The kinds that are decoded, with every field that matters here. */
const KINDS: Readonly<Record<string, Shape>> = {
  Namespace: NAMED,
  ServiceAccount: NAMED,
  Eviction: { ...NAMED, 2: one("deleteOptions", DELETE_OPTIONS) },
  DeleteOptions: DELETE_OPTIONS,
};

const ENVELOPE: Shape = {
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
