/**
 * Decodes a message that several services of a process receive once for all of them. A process with every service saves
 * four of five decodings and holds each observed node once.
 */
import type { Message, MessageType } from "../../../protocols/messages.ts";
import { type AdmissionRefusal, type Admitted, type ArrivingMessage, admit } from "./admission.policy.ts";

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
  if (known !== null && isOf(known, type)) return known;
  const admission = admit(payload, type, arrival);
  if (awaited.readers > 0 && "message" in admission) awaited.admitted = admission;
  return admission;
}

function isOf<T extends MessageType>(admitted: Admitted<MessageType>, type: T): admitted is Admitted<T> {
  const message: Message<MessageType> = admitted.message;
  return message.type === type;
}
