/**
 * Lets a process write to the API only while no other process can have taken its Lease. The check is made directly
 * before a request is sent. So it holds for every writer of the process, and for a process that was stopped during a
 * write.
 */
import type { Clock, HttpExchange, HttpRequest, Wire } from "../../../../protocols/ports.ts";
import { reviewPath } from "../transport/paths.ts";

/** Reviews are posted and store nothing: a standby authenticates the clients of its console too. */
const REVIEW_PATHS: readonly string[] = [reviewPath("TokenReview"), reviewPath("SubjectAccessReview")];

const REFUSAL = { message: "not sent: this process does not lead now", sent: false } as const;

/** A renewal of the Lease, at the instants of both clocks when it was requested. */
interface Renewal {
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly validMs: number;
}

/** The gate before the wire of one process; closed until the first `open`. */
export class WriteGate {
  readonly #clock: Pick<Clock, "monotonicMs" | "wallMs" | "soon">;
  #renewal: Renewal | null = null;

  constructor(clock: Pick<Clock, "monotonicMs" | "wallMs" | "soon">) {
    this.#clock = clock;
  }

  /** The present instant of both clocks: the beginning of a renewal. */
  now(): Pick<Renewal, "monotonicMs" | "wallMs"> {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() };
  }

  /** Lets writes pass until `validMs` after a renewal was requested. */
  open(requested: Pick<Renewal, "monotonicMs" | "wallMs">, validMs: number): void {
    this.#renewal = { ...requested, validMs };
  }

  close(): void {
    this.#renewal = null;
  }

  /**
   * Whether a write may be sent now. The wall clock counts too, because the monotonic clock stops while a machine is
   * suspended; a step of the wall clock only delays writes until the next renewal.
   */
  get isOpen(): boolean {
    if (this.#renewal === null) return false;
    const { monotonicMs, wallMs } = this.now();
    const passedMs = Math.max(monotonicMs - this.#renewal.monotonicMs, wallMs - this.#renewal.wallMs);
    return passedMs < this.#renewal.validMs;
  }

  /** The wire behind the gate. A write that may not be sent fails unsent. */
  over(wire: Wire): Wire {
    return {
      send: (request, exchange) =>
        this.isOpen || changesNothing(request) ? wire.send(request, exchange) : this.#refuse(exchange),
    };
  }

  #refuse(exchange: HttpExchange): { abort(): void } {
    let isAborted = false;
    this.#clock.soon(() => {
      if (!isAborted) exchange.failed(REFUSAL);
    });
    return {
      abort: () => {
        isAborted = true;
      },
    };
  }
}

function changesNothing({ method, path }: HttpRequest): boolean {
  return method === "GET" || REVIEW_PATHS.includes(path);
}
