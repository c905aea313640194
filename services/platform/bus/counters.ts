/** The metrics of a typed bus. */
import type { MessageType } from "../../../protocols/messages.ts";
import type { Metrics } from "../../../protocols/ports.ts";

/** Why a message was not sent (`unsent`, `oversize`) or not handled (the others; `mailbox` was full). */
type DropReason =
  | "unsent"
  | "oversize"
  | "mailbox"
  | "malformed"
  | "forbidden"
  | "foreign"
  | "duplicate"
  | "out-of-order";

/** The counters of one service's bus. */
export type BusCounters = ReturnType<typeof busCounters>;

/** Declares what one service's bus counts. */
export function busCounters(metrics: Metrics, service: string) {
  const counter = (name: string, help: string, ...labels: string[]) => metrics.counter({ name, help, labels });
  const sent = counter("vigil_bus_sent_total", "Messages handed to the transport.", "service", "type");
  const received = counter("vigil_bus_received_total", "Messages given to an actor.", "service", "type");
  const dropped = counter("vigil_bus_dropped_total", "Messages dropped, by reason.", "service", "type", "reason");
  const gaps = counter("vigil_bus_gaps_total", "Times that messages of a stream went missing.", "service", "type");
  const failures = counter("vigil_actor_failures_total", "Exceptions thrown by a service's actors.", "service");
  return {
    sent: (type: MessageType) => sent.add(1, service, type),
    received: (type: MessageType) => received.add(1, service, type),
    dropped: (type: MessageType, reason: DropReason) => dropped.add(1, service, type, reason),
    gap: (type: MessageType) => gaps.add(1, service, type),
    failure: () => failures.add(1, service),
  };
}
