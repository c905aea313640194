/**
 * Decides whether the bytes received on a subject are a message to handle. Bytes that several services of a process
 * receive are decoded once for all of them: a process with every service saves four of five decodings and keeps each
 * observed node once.
 */
import { memberOf, positionOf, type StreamPosition, serviceOf } from "../../../protocols/frame.ts";
import { MESSAGES, type Message, type MessageType } from "../../../protocols/messages.ts";
import { decode, definitionOf, MalformedMessage, subjectFor } from "../../../protocols/wire.ts";

/** A message to handle, with its position in its stream. */
export interface Admitted<T extends MessageType> {
  readonly message: Message<T>;
  readonly position: StreamPosition;
}

/**
 * Why bytes are dropped. `forbidden`: the sender's service may not send this type (column `from` of the message table),
 * or the message is about another member than its sender.
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
  readonly wallMs: number;
}

/**
 * How far the start of a sender may lie ahead of our wall clock, in milliseconds: far more than clocks differ. A later
 * start would make every message of the true sender look out of order.
 */
export const EPOCH_AHEAD_MAX_MS = 3_600_000;

/** The services that may send a type; null for any. */
const SENDERS: ReadonlyMap<string, ReadonlySet<string> | null> = new Map(
  Object.entries(MESSAGES).map(([type, { from }]) => [type, from === "any" ? null : new Set(from.split(", "))]),
);

/**
 * Decodes and checks bytes from a subject of `type`. NATS checks who may publish on which subject, so the frame must be
 * of the subject's type; otherwise a process with the right to send heartbeats could request evictions. Likewise a
 * message about a member must come on that member's subject.
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
    return { reason: "malformed", problem: `id: ${JSON.stringify(message.id)} does not match source and type` };
  }
  if (position.epoch > arrival.wallMs + EPOCH_AHEAD_MAX_MS) {
    return { reason: "malformed", problem: `id: ${JSON.stringify(message.id)} names a start in the future` };
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

interface Awaited {
  /** How many readers have yet to open them. */
  readers: number;
  /** The result of the first reader, for the others. */
  admitted: Admitted<MessageType> | null;
}

/**
 * The bytes still to be opened. The last reader deletes its entry: V8 treats everything in a WeakMap as alive when it
 * collects young objects, so otherwise every heartbeat would move to the old generation.
 */
const AWAITED = new WeakMap<Uint8Array, Awaited>();

/** Registers one more reader of these bytes. */
export function awaitReader(payload: Uint8Array): void {
  const awaited = AWAITED.get(payload);
  if (awaited === undefined) AWAITED.set(payload, { readers: 1, admitted: null });
  else awaited.readers += 1;
}

/** Like `admit`, but runs once for all registered readers. They share the message, so none may change it. */
export function admitOnce<T extends MessageType>(
  payload: Uint8Array,
  type: T,
  arrival: ArrivingMessage,
): Admitted<T> | AdmissionRefusal {
  const awaited = AWAITED.get(payload);
  if (awaited === undefined) return admit(payload, type, arrival);
  awaited.readers -= 1;
  if (awaited.readers === 0) AWAITED.delete(payload);
  const known = awaited.admitted;
  if (known !== null && isAdmitted(known, type)) return known;
  const admission = admit(payload, type, arrival);
  if (awaited.readers > 0 && "message" in admission) awaited.admitted = admission;
  return admission;
}

function isAdmitted<T extends MessageType>(admitted: Admitted<MessageType>, type: T): admitted is Admitted<T> {
  return isOf(admitted.message, type);
}
