/**
 * The fast path for a message that several services of a process hear: decoded for the first of them, shared by the
 * others. A process with all services saves four of five decodings, and holds each node it was told of only once.
 */
import type { Message, MessageType } from "../../../protocols/messages.ts";
import { type AdmissionRefusal, type Admitted, type ArrivingMessage, admit } from "./admission.policy.ts";

/** Bytes that wait for their hearers. */
interface Awaited {
  /** How many have yet to open them. */
  readers: number;
  /** What came out for the first of several. */
  admitted: Admitted<MessageType> | null;
}

/**
 * What is known of bytes that are still to be opened. The last hearer takes them out: V8's collector of young objects
 * takes whatever a WeakMap holds for alive, so that otherwise every heartbeat would end in the old generation.
 */
const AWAITED = new WeakMap<Uint8Array, Awaited>();

/** Says that one more will open these bytes. */
export function awaitReader(payload: Uint8Array): void {
  const awaited = AWAITED.get(payload);
  if (awaited === undefined) AWAITED.set(payload, { readers: 1, admitted: null });
  else awaited.readers += 1;
}

/**
 * The same as `admit`, but done only once for all hearers that were awaited. Nobody may change the message: others hold
 * it too.
 */
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
