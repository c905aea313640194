/** Decides whether bytes that came on a subject are a message to act on. It knows no streams and no handlers. */
import { memberOf, positionOf, type StreamPosition, serviceOf } from "../../../protocols/frame.ts";
import { MESSAGES, type Message, type MessageType } from "../../../protocols/messages.ts";
import { decode, definitionOf, MalformedMessage, subjectFor } from "../../../protocols/wire.ts";

/** A message to act on, with its place in its stream. */
export interface Admitted<T extends MessageType> {
  readonly message: Message<T>;
  readonly position: StreamPosition;
}

/**
 * Why bytes are dropped. `forbidden`: their sender is none of those that may say this (column `from` of the message
 * table), or speaks for another member.
 */
export interface AdmissionRefusal {
  readonly reason: "malformed" | "forbidden";
  readonly problem: string;
}

/** Where and when bytes arrived. */
export interface ArrivingMessage {
  readonly subject: string;
  /** Name of the Kubernetes cluster in subjects. */
  readonly cluster: string;
  /** Our wall clock. */
  readonly wallMs: number;
}

/**
 * How far the start of a sender may lie ahead of our wall clock, in milliseconds: far more than clocks differ by. A
 * stream that claims a later start would make everything that its true sender says look old.
 */
export const EPOCH_AHEAD_MAX_MS = 3_600_000;

/** The services that may send a type; null for any. */
const SENDERS: ReadonlyMap<string, ReadonlySet<string> | null> = new Map(
  Object.entries(MESSAGES).map(([type, { from }]) => [type, from === "any" ? null : new Set(from.split(", "))]),
);

/**
 * Opens what came on a subject of `type`. The server checks who may publish on which subject, so the frame must be of
 * the subject's type; otherwise a sender trusted with heartbeats could ask for evictions. For the same reason what a
 * member says of itself must come on its own subject.
 */
export function admit<T extends MessageType>(
  payload: Uint8Array,
  type: T,
  arrival: ArrivingMessage,
): Admitted<T> | AdmissionRefusal {
  const message = decode(payload);
  if (message instanceof MalformedMessage) return { reason: "malformed", problem: message.problem };
  if (!isOf(message, type)) {
    return { reason: "malformed", problem: `type: ${message.type} came on a subject of ${type}` };
  }
  const position = positionOf(message.id);
  if (position === null || position.stream !== streamOf(message)) {
    return { reason: "malformed", problem: `id: ${JSON.stringify(message.id)} is not one that its source gives` };
  }
  if (position.epoch > arrival.wallMs + EPOCH_AHEAD_MAX_MS) {
    return { reason: "malformed", problem: `id: ${JSON.stringify(message.id)} names a start that is yet to come` };
  }
  const problem = problemWithSender(message, arrival);
  return problem === null ? { message, position } : { reason: "forbidden", problem };
}

function problemWithSender<T extends MessageType>(
  { type, source, body }: Message<T>,
  { subject, cluster }: ArrivingMessage,
): string | null {
  const senders = SENDERS.get(type) ?? null;
  if (senders !== null && !senders.has(serviceOf(source))) {
    return `source: ${source} may not send ${type}, only ${[...senders].join(", ")} may`;
  }
  const publishedBy = definitionOf(type).publishedBy?.(body) ?? null;
  if (publishedBy === null) return null;
  if (memberOf(source) !== publishedBy)
    return `source: ${source} may not send ${type} of ${publishedBy}, only itself may`;
  if (subject !== subjectFor(cluster, type, body)) return `subject: ${type} of ${publishedBy} came on ${subject}`;
  return null;
}

function isOf<T extends MessageType>(message: Message, type: T): message is Message<T> {
  return message.type === type;
}

function streamOf<T extends MessageType>(message: Message<T>): string {
  return `${message.source}:${message.type}.${definitionOf(message.type).shard(message.body)}`;
}
