/**
 * The fast path for a message that several services of a process hear: opened for the first of them, shared by the
 * others. In a process of all services four of five openings fall away, and what they keep of a node is kept once.
 */
import type { Message, MessageType } from "../../protocols/messages.ts";
import { type Admitted, admit, type Refusal } from "./bus.admission.policy.ts";

/** Bytes that wait for their hearers. */
interface Awaited {
  /** How many have yet to open them. */
  hearers: number;
  /** What came out for the first of several. */
  admitted: Admitted<MessageType> | null;
}

/**
 * Bytes by what is known of them. Nothing stays here once the last hearer has opened them: the collector of young
 * objects takes whatever such a map holds for alive, so that every heartbeat ended in the old generation.
 */
const AWAITED = new WeakMap<Uint8Array, Awaited>();

/** Says that one more will open these bytes. */
export function awaitHearer(payload: Uint8Array): void {
  const awaited = AWAITED.get(payload);
  if (awaited === undefined) AWAITED.set(payload, { hearers: 1, admitted: null });
  else awaited.hearers += 1;
}

/**
 * The same as `admit`, at its cost only once for all who were awaited at the same bytes. Nobody may change what a
 * message holds: others hold it too.
 */
export function admitOnce<T extends MessageType>(payload: Uint8Array, type: T): Admitted<T> | Refusal {
  const awaited = AWAITED.get(payload);
  if (awaited === undefined) return admit(payload, type);
  awaited.hearers -= 1;
  if (awaited.hearers === 0) AWAITED.delete(payload);
  const known = awaited.admitted;
  if (known !== null && isOf(known, type)) return known;
  const admission = admit(payload, type);
  if (awaited.hearers > 0 && "message" in admission) awaited.admitted = admission;
  return admission;
}

function isOf<T extends MessageType>(admitted: Admitted<MessageType>, type: T): admitted is Admitted<T> {
  const message: Message<MessageType> = admitted.message;
  return message.type === type;
}
