/**
 * Moments of a run: the n-th message of some kind, or the n-th request of some kind, from an instant on. Something
 * strikes exactly then: before the message reaches a process, once it was passed on, before the API server carries a
 * request out, or once it has. It decides nothing about what strikes.
 */
import type { BodyOf, Message, MessageType } from "../../protocols/messages.ts";
import type { Stop } from "../../protocols/ports.ts";
import { decode, MalformedMessage } from "../../protocols/wire.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import type { FaultyApiServer } from "../support/faulty-apiserver.ts";
import { WRITER_HEADER } from "./faulty-wire.ts";
import type { Interposition, Network } from "./network.ts";

/** A kind of message. */
export interface MessageMoment {
  readonly name: string;
  readonly type: MessageType;
  /** Whether a message is of this kind; `before` is the body of the last one on its subject. */
  readonly isIt: (message: Message, before: unknown) => boolean;
}

/** A kind of request of Vigil. */
export interface RequestMoment {
  readonly name: string;
  readonly isIt: (call: Call) => boolean;
}

/** A message of a type by its body, and by the body of the last one on its subject where there was one. */
export function messageMoment<T extends MessageType>(
  name: string,
  type: T,
  isIt: (body: BodyOf<T>, before: BodyOf<T> | null) => boolean = () => true,
): MessageMoment {
  return { name, type, isIt: ({ body }, before) => isIt(body as BodyOf<T>, before as BodyOf<T> | null) };
}

/** A process of Vigil, which sends messages and requests. */
interface Sender {
  readonly name: string;
}

/** Strikes at the n-th message of a kind from now on, once. The returned function disarms it. */
export function atMessage<P extends Sender>(
  { network, processes }: { readonly network: Network; readonly processes: readonly P[] },
  moment: MessageMoment,
  nth: number,
  strike: (subject: string, sender: P) => Interposition | null,
): Stop {
  const bodies = new Map<string, unknown>();
  let left = nth;
  const [kind, noun] = moment.type.split(".");
  const disarm = (): boolean => network.interposers.delete(interpose);
  const interpose = (subject: string, payload: Uint8Array, from: { readonly member: string }): Interposition | null => {
    const tokens = subject.split(".");
    if (tokens[KIND_AT] !== kind || tokens[KIND_AT + 1] !== noun) return null;
    const sender = processes.find(({ name }) => name === from.member);
    const message = decode(payload);
    if (sender === undefined || message instanceof MalformedMessage) return null;
    const before = bodies.get(subject) ?? null;
    bodies.set(subject, message.body);
    if (!moment.isIt(message, before)) return null;
    left -= 1;
    if (left > 0) return null;
    disarm();
    return strike(subject, sender);
  };
  network.interposers.add(interpose);
  return disarm;
}

/** Subjects begin with `vigil.v1.sim`. */
const KIND_AT = 3;

/** What a request that a moment strikes comes to. */
export type RequestFate = "carriedOut" | "lostReply" | "lostRequest";

/** Strikes at the n-th request of a kind from now on, once. The returned function disarms it. */
export function atRequest<P extends Sender>(
  { world, processes }: { readonly world: { readonly api: FaultyApiServer }; readonly processes: readonly P[] },
  { isIt }: RequestMoment,
  nth: number,
  strike: (sender: P) => RequestFate,
): Stop {
  let left = nth;
  let struck: { readonly call: Call; readonly fate: RequestFate } | null = null;
  const meet = (call: Call): void => {
    const sender = processes.find(({ name }) => name === call.headers[WRITER_HEADER]);
    if (struck !== null || sender === undefined || call.verb === "watch" || !isIt(call)) return;
    left -= 1;
    if (left === 0) struck = { call, fate: strike(sender) };
  };
  const meets = (call: Call, fate: RequestFate): boolean => struck?.call === call && struck.fate === fate;
  const { faults } = world.api;
  const ends = [
    faults.add({
      fault: { kind: "lostReply" },
      when: (call) => {
        meet(call);
        return meets(call, "lostReply");
      },
    }),
    faults.add({ fault: { kind: "lostRequest" }, when: (call) => meets(call, "lostRequest") }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
