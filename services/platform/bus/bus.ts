/**
 * The typed message bus of one service, over any transport: it encodes, checks and orders messages, reports gaps, and
 * counts what it drops.
 */
import { frameId } from "../../../protocols/frame.ts";
import { type BodyOf, MESSAGES, type Message, type MessageType } from "../../../protocols/messages.ts";
import type { Bus, Clock, Io, Latest, Metrics, Stop, Transport } from "../../../protocols/ports.ts";
import { patternOf } from "../../../protocols/subjects.ts";
import { definitionOf, encode, subjectFor } from "../../../protocols/wire.ts";
import { type LimitedWarn, limitedWarn } from "../process/log.limited.ts";
import { type AdmissionRefusal, admit, admitOnce, awaitReader } from "./admission.ts";
import { Mailbox } from "./mailbox.ts";
import { type ArrivalOrder, StreamTracker } from "./stream-tracker.ts";

/** How many messages are handled before sockets and timers run. */
const MESSAGES_PER_TURN = 128;

const WARNING_PAUSE_MS = 1000;

/** The context of a typed bus. Its messages carry `service@member` as their source. */
export interface TypedBusOptions extends Pick<Io, "clock" | "log" | "metrics"> {
  readonly transport: Transport;
  readonly cluster: string;
  readonly service: string;
  readonly member: string;
  /** How many messages may wait; beyond it the oldest heartbeats are dropped first. */
  readonly mailboxMessagesMax: number;
  /** Whether the sender `service@member` serves another Kubernetes cluster: all but its pulses are dropped. */
  readonly isForeign?: (source: string) => boolean;
  /** Called with what a handler threw; by default it is logged. The next message is handled in any case. */
  readonly failed?: (error: unknown) => void;
}

/** Creates a typed bus. `publish` handles nothing: every message waits in the mailbox until its actor is free. */
export function typedBus(options: TypedBusOptions): Bus {
  return new ServiceBus(options);
}

interface Subscription {
  readonly type: MessageType;
  /** Decodes the bytes and gives an admitted message to the handler. */
  readonly open: (payload: Uint8Array, subject: string) => void;
  active: boolean;
}

interface Delivery {
  readonly subscription: Subscription;
  readonly payload: Uint8Array;
  readonly subject: string;
}

class ServiceBus implements Bus {
  readonly #options: TypedBusOptions;
  readonly #source: string;
  readonly #epoch: number;
  readonly #counters: ReturnType<typeof busCounters>;
  readonly #warn: LimitedWarn;
  /** The last sequence published of each stream, by `type.shard`. */
  readonly #sequences = new Map<string, number>();
  readonly #gapListeners = new Set<(type: MessageType, shard: number) => void>();
  readonly #mailbox: Mailbox<Delivery>;
  #isDeliveryScheduled = false;

  constructor(options: TypedBusOptions) {
    this.#options = options;
    this.#source = `${options.service}@${options.member}`;
    this.#epoch = Math.floor(options.clock.wallMs());
    this.#counters = busCounters(options.metrics, options.service);
    this.#warn = limitedWarn(options.log, options.clock, WARNING_PAUSE_MS);
    this.#mailbox = new Mailbox(options.mailboxMessagesMax);
  }

  publish<T extends MessageType>(type: T, body: BodyOf<T>, cause: string | null): string | null {
    const { transport, clock, cluster } = this.#options;
    const shard = definitionOf(type).shard(body);
    const stream = `${type}.${shard}`;
    const sequence = (this.#sequences.get(stream) ?? 0) + 1;
    const id = frameId(this.#source, this.#epoch, type, shard, sequence);
    const payload = this.#encode({ type, id, source: this.#source, at: clock.wallMs(), cause, body });
    if (payload === null) return null;
    // An unsent message takes its place in the stream all the same, so that readers notice the gap later.
    this.#sequences.set(stream, sequence);
    if (transport.connected()) {
      transport.publish(subjectFor(cluster, type, body), payload);
      this.#counters.sent(type);
    } else {
      this.#counters.dropped(type, "unsent");
    }
    return id;
  }

  subscribe<T extends MessageType>(type: T, shard: number | "all", receive: (message: Message<T>) => void): Stop {
    const { transport, cluster } = this.#options;
    // The fleet orders messages about members itself: a process with a NATS seed could forge a later sequence.
    const tracker = definitionOf(type).publishedBy === undefined ? new StreamTracker() : null;
    const pattern = patternOf(cluster, type, shard, MESSAGES[type].keyNames.length);
    const open = (payload: Uint8Array, subject: string) => this.#open(type, tracker, { payload, subject }, receive);
    const subscription: Subscription = { type, open, active: true };
    const stop = transport.subscribe(pattern, (payload, subject) => this.#put({ subscription, payload, subject }));
    return () => {
      subscription.active = false;
      stop();
    };
  }

  latest<T extends MessageType>(type: T): Latest<T> {
    const pattern = patternOf(this.#options.cluster, type, "all", MESSAGES[type].keyNames.length);
    return latestOf(this.#options, pattern, type);
  }

  onGap(lost: (type: MessageType, shard: number) => void): Stop {
    this.#gapListeners.add(lost);
    return () => this.#gapListeners.delete(lost);
  }

  connected(): boolean {
    return this.#options.transport.connected();
  }

  #encode<T extends MessageType>(message: Message<T>): Uint8Array | null {
    try {
      return encode(message);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#counters.dropped(message.type, "oversize");
      this.#warn(`message not sent: ${error.message}`, { type: message.type, id: message.id });
      return null;
    }
  }

  #put(delivery: Delivery): void {
    const { type } = delivery.subscription;
    awaitReader(delivery.payload);
    if (!this.#mailbox.put(delivery, type === "observed.lease")) this.#counters.dropped(type, "mailbox");
    this.#scheduleDelivery();
  }

  #scheduleDelivery(): void {
    if (this.#isDeliveryScheduled) return;
    this.#isDeliveryScheduled = true;
    this.#options.clock.soon(() => this.#deliver());
  }

  #deliver(): void {
    this.#isDeliveryScheduled = false;
    for (let handled = 0; handled < MESSAGES_PER_TURN; handled++) {
      const delivery = this.#mailbox.take();
      if (delivery === null) return;
      if (delivery.subscription.active) delivery.subscription.open(delivery.payload, delivery.subject);
    }
    if (this.#mailbox.size > 0) this.#scheduleDelivery();
  }

  #open<T extends MessageType>(
    type: T,
    tracker: StreamTracker | null,
    { payload, subject }: Pick<Delivery, "payload" | "subject">,
    receive: (message: Message<T>) => void,
  ): void {
    const { clock, cluster } = this.#options;
    const admission = admitOnce(payload, type, { subject, cluster, wallMs: clock.wallMs() });
    if ("reason" in admission) {
      this.#counters.dropped(type, admission.reason);
      this.#warn(`message dropped: ${admission.problem}`, { type, reason: admission.reason });
      return;
    }
    const { message, position } = admission;
    if (type !== "pulse.member" && this.#options.isForeign?.(message.source) === true) {
      this.#counters.dropped(type, "foreign");
      return;
    }
    const arrival = tracker?.arrive(position, clock.monotonicMs()) ?? "next";
    if (arrival === "duplicate" || arrival === "out-of-order") {
      this.#counters.dropped(type, arrival);
      return;
    }
    this.#guard(() => {
      if (arrival === "gap") this.#reportGap(type, definitionOf(type).shard(message.body));
      this.#counters.received(type);
      receive(message);
    });
  }

  #reportGap(type: MessageType, shard: number): void {
    this.#counters.gap(type);
    for (const lost of this.#gapListeners) lost(type, shard);
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#counters.failure();
      const { log, service, failed } = this.#options;
      if (failed === undefined) log.error(`${service} failed on a message`, { error });
      else failed(error);
    }
  }
}

/** Why a message was not sent (`unsent`, `oversize`) or not handled (the others; `mailbox` was full). */
type DropReason = AdmissionRefusal["reason"] | ArrivalOrder | "unsent" | "oversize" | "mailbox" | "foreign";

function busCounters(metrics: Metrics, service: string) {
  const counter = (name: string, help: string, ...labels: string[]) => metrics.counter({ name, help, labels });
  const sent = counter("vigil_bus_sent_total", "Messages handed to the transport.", "service", "type");
  const received = counter("vigil_bus_received_total", "Messages given to an actor.", "service", "type");
  const dropped = counter("vigil_bus_dropped_total", "Messages dropped, by reason.", "service", "type", "reason");
  const gaps = counter("vigil_bus_gaps_total", "Gaps: messages of a stream that are missing.", "service", "type");
  const failures = counter("vigil_actor_failures_total", "Exceptions thrown by a service's actors.", "service");
  return {
    sent: (type: MessageType) => sent.add(1, service, type),
    received: (type: MessageType) => received.add(1, service, type),
    dropped: (type: MessageType, reason: DropReason) => dropped.add(1, service, type, reason),
    gap: (type: MessageType) => gaps.add(1, service, type),
    failure: () => failures.add(1, service),
  };
}

/** The bytes without anything behind them: those from a socket are a view of a far larger buffer. */
function ownBytes(payload: Uint8Array): Uint8Array {
  return payload.byteLength === payload.buffer.byteLength ? payload : payload.slice();
}

/** Keeps the last bytes of each subject under a pattern; `take` skips those that are no message of `type`. */
function latestOf<T extends MessageType>(
  { transport, clock, cluster }: { readonly transport: Transport; readonly clock: Clock; readonly cluster: string },
  pattern: string,
  type: T,
): Latest<T> {
  const unread = new Map<string, { readonly payload: Uint8Array; readonly receivedMs: number }>();
  const stop = transport.subscribe(pattern, (payload, subject) => {
    unread.set(subject, { payload: ownBytes(payload), receivedMs: clock.monotonicMs() });
  });
  return {
    stop,
    take() {
      const admitted: { message: Message<T>; receivedMs: number }[] = [];
      const wallMs = clock.wallMs();
      for (const [subject, { payload, receivedMs }] of unread) {
        const admission = admit(payload, type, { subject, cluster, wallMs });
        if ("message" in admission) admitted.push({ message: admission.message, receivedMs });
      }
      unread.clear();
      return admitted;
    },
  };
}
