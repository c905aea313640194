/** Decides whether bytes that came on a subject are a message to act on. It knows no streams and no handlers. */
import { positionOf, type StreamPosition } from "../../protocols/frame.ts";
import { MESSAGES, type Message, type MessageType } from "../../protocols/messages.ts";
import { decode, definitionOf, MalformedMessage } from "../../protocols/wire.ts";

/** A message to act on, with its place in its stream. */
export interface Admitted<T extends MessageType> {
  readonly message: Message<T>;
  readonly position: StreamPosition;
}

/**
 * Why bytes are dropped. `forbidden`: their sender is none of those that may say this (column `from` of the message
 * table).
 */
export interface Refusal {
  readonly reason: "malformed" | "forbidden";
  readonly problem: string;
}

/** The services that may send a type; null for any. */
const SENDERS: ReadonlyMap<string, ReadonlySet<string> | null> = new Map(
  Object.entries(MESSAGES).map(([type, { from }]) => [type, from === "any" ? null : new Set(from.split(", "))]),
);

/**
 * Opens what came on a subject of `type`. The server checks who may publish on which subject, so the frame must be of
 * the subject's type; otherwise a sender trusted with heartbeats could ask for evictions.
 */
export function admit<T extends MessageType>(payload: Uint8Array, type: T): Admitted<T> | Refusal {
  const message = decode(payload);
  if (message instanceof MalformedMessage) return { reason: "malformed", problem: message.problem };
  if (!isOf(message, type)) {
    return { reason: "malformed", problem: `type: ${message.type} came on a subject of ${type}` };
  }
  const position = positionOf(message.id);
  if (position === null || position.stream !== streamOf(message)) {
    return { reason: "malformed", problem: `id: ${JSON.stringify(message.id)} is not one that its source gives` };
  }
  const senders = SENDERS.get(type) ?? null;
  if (senders !== null && !senders.has(serviceOf(message.source))) {
    const allowed = [...senders].join(", ");
    return { reason: "forbidden", problem: `source: ${message.source} may not send ${type}, only ${allowed} may` };
  }
  return { message, position };
}

function isOf<T extends MessageType>(message: Message, type: T): message is Message<T> {
  return message.type === type;
}

function streamOf<T extends MessageType>(message: Message<T>): string {
  return `${message.source}:${message.type}.${definitionOf(message.type).shard(message.body)}`;
}

function serviceOf(source: string): string {
  const end = source.indexOf("@");
  return end < 0 ? source : source.slice(0, end);
}
