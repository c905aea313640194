/** Writes Events to the API in the background: few at a time, and dropped when too many wait. */
import type { Io, Stop, WriteReply } from "../../../../protocols/ports.ts";
import { Urgency } from "../../../../protocols/ports.ts";
import { EventCorrelator, type EventWrite, type Occurrence } from "./event-correlator.ts";

/** Events that may wait, as in upstream's broadcaster (R12.2); further ones are dropped. */
export const WAITING_MAX = 1000;
/** Event writes requested at once. Each waits behind every more urgent write; beside others they go one by one. */
const UNDER_WAY_MAX = 8;
/** Attempts to write one Event (R12.2). */
export const TRIES_MAX = 12;
/** Pause between two attempts (R12.2). */
export const RETRY_MS = 10_000;

interface WaitingEvent {
  readonly event: EventWrite;
  tries: number;
  /** Whether to create the Event. If false, patch the existing one, and create it if that is gone. */
  readonly whole: boolean;
}

/** The ports of a recorder. */
export type RecorderPorts = Pick<Io, "clock" | "kube" | "log" | "metrics">;

/** Records occurrences as Events until it is stopped. */
export class EventRecorder {
  readonly #ports: RecorderPorts;
  readonly #correlator = new EventCorrelator();
  readonly #count: (result: string) => void;
  #queue: WaitingEvent[] = [];
  #underWay = 0;
  /** Events that wait for their next attempt; they count towards WAITING_MAX. */
  readonly #pauses = new Set<Stop>();
  #stopped = false;

  constructor(ports: RecorderPorts) {
    this.#ports = ports;
    const counter = ports.metrics.counter({
      name: "vigil_events_total",
      help: "Kubernetes Events by result; suppressed: too many about one object, dropped: too many waiting.",
      labels: ["result"],
    });
    this.#count = (result) => counter.add(1, result);
  }

  /** Records an occurrence; the outcome is only counted, and all of it where nothing may be sent. */
  record(occurrence: Occurrence, { isUnsent = false }: { readonly isUnsent?: boolean } = {}): void {
    if (this.#stopped) return;
    if (isUnsent) {
      this.#count("shadowed");
      return;
    }
    const event = this.#correlator.correlate(occurrence, this.#ports.clock.wallMs());
    if (event === null) {
      this.#count("suppressed");
    } else if (this.#queue.length + this.#underWay + this.#pauses.size >= WAITING_MAX) {
      this.#count("dropped");
    } else {
      this.#queue.push({ event, tries: 0, whole: event.patch === null });
      this.#writeNext();
    }
  }

  /** Drops what waits and records nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#queue = [];
    for (const cancel of this.#pauses) cancel();
    this.#pauses.clear();
  }

  #writeNext(): void {
    while (this.#underWay < UNDER_WAY_MAX) {
      const waiting = this.#queue.shift();
      if (waiting === undefined) return;
      this.#underWay++;
      this.#write(waiting);
    }
  }

  #write(waiting: WaitingEvent): void {
    const { event, whole } = waiting;
    const ref = { kind: "Event", namespace: event.namespace, name: event.name } as const;
    const what = whole
      ? ({ verb: "create", body: event.whole } as const)
      : ({ verb: "patch", patch: "strategic", body: event.patch } as const);
    waiting.tries++;
    this.#ports.kube.write({ ref, urgency: Urgency.event, ...what }, (reply) => {
      this.#underWay--;
      if (this.#stopped) return;
      this.#settle(waiting, reply);
      this.#writeNext();
    });
  }

  #settle(waiting: WaitingEvent, reply: WriteReply): void {
    const next = nextOf(waiting, reply);
    if ("result" in next) {
      this.#count(next.result);
      if (next.result === "rejected") this.#reportRejected(waiting, reply);
    } else if ("whole" in next) {
      this.#queue.unshift({ ...waiting, whole: true });
    } else {
      this.#pause(waiting, next.retryAfterMs);
    }
  }

  #pause(waiting: WaitingEvent, delayMs: number): void {
    const timer = this.#ports.clock.after(delayMs, () => {
      this.#pauses.delete(cancel);
      this.#queue.push(waiting);
      this.#writeNext();
    });
    const cancel = () => timer.cancel();
    this.#pauses.add(cancel);
  }

  #reportRejected({ event }: WaitingEvent, reply: WriteReply): void {
    const detail = "detail" in reply ? reply.detail : "";
    this.#ports.log.debug("an Event was not written", { event: `${event.namespace}/${event.name}`, detail });
  }
}

type Next = { readonly result: string } | { readonly retryAfterMs: number } | { readonly whole: true };

/**
 * What to do after a reply. An Event that cannot be written now is retried a few times, as upstream's sink does
 * (R12.2).
 */
function nextOf({ tries, whole }: WaitingEvent, reply: WriteReply): Next {
  switch (reply.outcome) {
    case "ok":
    case "exists":
      return { result: "written" };
    case "shadowed":
      return { result: "shadowed" };
    case "gone":
      return whole ? { result: "rejected" } : { whole: true };
    case "conflict":
    case "denied":
      return { result: "rejected" };
    case "throttled":
    case "failed":
    case "unknown": {
      if (tries >= TRIES_MAX) return { result: "rejected" };
      return { retryAfterMs: reply.outcome === "throttled" ? reply.retryAfterMs : RETRY_MS };
    }
  }
}
