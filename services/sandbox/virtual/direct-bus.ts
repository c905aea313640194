/**
 * A bus within one process that hands over bodies as they are, for a world on virtual time. Encoding and decoding them,
 * as the bus of a run does, would double the time of a preview.
 */
import { frameId } from "../../../protocols/frame.ts";
import type { BodyOf, Message, MessageType } from "../../../protocols/messages.ts";
import type { Bus, Clock, Stop } from "../../../protocols/ports.ts";
import { definitionOf } from "../../../protocols/wire.ts";

/** A subscription to one type of messages, on one shard or on all. */
interface Subscription {
  readonly receive: (message: Message) => void;
  isOpen: boolean;
}

/** The bus of all services of one member. A message is handled after the one that led to it. */
export class DirectBus {
  readonly #clock: Pick<Clock, "wallMs" | "soon">;
  readonly #member: string;
  /** By type, and by type and shard. */
  readonly #subscriptions = new Map<string, Subscription[]>();
  #waiting: { readonly to: Subscription; readonly message: Message }[] = [];
  #isWoken = false;
  #sequence = 0;

  constructor(clock: Pick<Clock, "wallMs" | "soon">, member: string) {
    this.#clock = clock;
    this.#member = member;
  }

  /** The bus of one service. No message is ever missing, and it keeps no latest messages. */
  of(service: string): Bus {
    const source = `${service}@${this.#member}`;
    return {
      publish: (type, body, cause) => this.#publish(source, { type, body, cause }),
      subscribe: (type, shard, receive) =>
        this.#subscribe(shard === "all" ? type : streamOf(type, shard), receive as Subscription["receive"]),
      onGap: () => () => {},
      latest: () => ({ take: () => [], stop: () => {} }),
      connected: () => true,
    };
  }

  #publish<T extends MessageType>(source: string, sent: Pick<Message<T>, "type" | "body" | "cause">): string {
    const shard = definitionOf(sent.type).shard(sent.body as BodyOf<T>);
    this.#sequence += 1;
    const id = frameId(source, 0, sent.type, shard, this.#sequence);
    const message = { ...sent, id, source, at: this.#clock.wallMs() };
    for (const key of [sent.type, streamOf(sent.type, shard)]) {
      for (const to of this.#subscriptions.get(key) ?? []) this.#waiting.push({ to, message });
    }
    if (this.#waiting.length > 0 && !this.#isWoken) this.#clock.soon(() => this.#deliver());
    this.#isWoken = this.#waiting.length > 0;
    return id;
  }

  #subscribe(key: string, receive: Subscription["receive"]): Stop {
    const subscription = { receive, isOpen: true };
    this.#subscriptions.set(key, [...(this.#subscriptions.get(key) ?? []), subscription]);
    return () => {
      subscription.isOpen = false;
    };
  }

  #deliver(): void {
    const due = this.#waiting;
    this.#waiting = [];
    this.#isWoken = false;
    for (const { to, message } of due) if (to.isOpen) to.receive(message);
  }
}

function streamOf(type: MessageType, shard: number): string {
  return `${type}.${shard}`;
}
