/**
 * The fast path for a message that several services of a process hear: opened for the first of them, shared by the
 * others. In a process of all services four of five openings fall away, and what they keep of a node is kept once.
 */
import type { Message, MessageType } from "../../protocols/messages.ts";
import { type Admitted, admit, type Refusal } from "./bus.admission.policy.ts";

/** What was admitted, for as long as somebody still holds the bytes. */
const ADMITTED = new WeakMap<Uint8Array, Admitted<MessageType>>();

/**
 * The same as `admit`, at its cost only once for the same bytes. Nobody may change what a message holds: others hold it
 * too.
 */
export function admitOnce<T extends MessageType>(payload: Uint8Array, type: T): Admitted<T> | Refusal {
  const known = ADMITTED.get(payload);
  if (known !== undefined && isOf(known, type)) return known;
  const admission = admit(payload, type);
  if ("message" in admission) ADMITTED.set(payload, admission);
  return admission;
}

function isOf<T extends MessageType>(admitted: Admitted<MessageType>, type: T): admitted is Admitted<T> {
  const message: Message<MessageType> = admitted.message;
  return message.type === type;
}
