/** The figures that every typed bus keeps. */
import type { MessageType } from "../../../protocols/messages.ts";
import type { Metrics } from "../../../protocols/ports.ts";

/**
 * Why a message was not sent or not handled: `unsent` and `oversize` on the way out; `mailbox` (full), `malformed`,
 * `forbidden`, `stranger`, `doubled` and `overtaken` on the way in.
 */
type DropReason =
  | "unsent"
  | "oversize"
  | "mailbox"
  | "malformed"
  | "forbidden"
  | "foreign"
  | "duplicate"
  | "out-of-order";

/** Counts what one service sends, receives and loses. */
export interface BusCounters {
  sent(type: MessageType): void;
  received(type: MessageType): void;
  dropped(type: MessageType, reason: DropReason): void;
  gap(type: MessageType): void;
  failure(): void;
}

/** The counters of one service's bus. */
export function busCounters(metrics: Metrics, service: string): BusCounters {
  const counter = (name: string, help: string, ...labels: string[]) => metrics.counter({ name, help, labels });
  const sent = counter("vigil_bus_sent_total", "Messages handed to the transport.", "service", "type");
  const received = counter("vigil_bus_received_total", "Messages given to an actor.", "service", "type");
  const dropped = counter("vigil_bus_dropped_total", "Messages dropped, by reason.", "service", "type", "reason");
  const gaps = counter("vigil_bus_gaps_total", "Times that messages of a stream went missing.", "service", "type");
  const failures = counter("vigil_actor_failures_total", "Exceptions thrown by a service's actors.", "service");
  return {
    sent: (type) => sent.add(1, service, type),
    received: (type) => received.add(1, service, type),
    dropped: (type, reason) => dropped.add(1, service, type, reason),
    gap: (type) => gaps.add(1, service, type),
    failure: () => failures.add(1, service),
  };
}
