/**
 * The connection of one simulated process to the API server, with late, refused, cut and missing answers. It changes no
 * object itself.
 */
import type { Clock, HttpExchange, HttpRequest, Random, Wire } from "../../protocols/ports.ts";

/** The present faults of the connection. Chances are 0 to 1 for each request. */
export interface WireFaults {
  readonly latencyMaxMs: number;
  /** 409, 429, 500, 503: refused before anything is carried out. */
  readonly refusal: number;
  /** No answer arrives, and the request is not carried out. */
  readonly timeout: number;
  /** The request is carried out and the answer is lost. */
  readonly lostReply: number;
}

/** A connection without faults. */
export const CALM_WIRE: WireFaults = { latencyMaxMs: 5, refusal: 0, timeout: 0, lostReply: 0 };

/** Header with the process that sent the write. */
export const WRITER_HEADER = "x-simulated-writer";

const REFUSALS: readonly (readonly [code: number, reason: string])[] = [
  [409, "Conflict"],
  [429, "TooManyRequests"],
  [500, "InternalError"],
  [503, "ServiceUnavailable"],
];

/** The parts of a faulty wire. */
export interface FaultyWireOptions {
  readonly wire: Wire;
  readonly clock: Clock;
  readonly random: Random;
  /** Name of the process. */
  readonly writer: string;
  /** Counts a situation that the run is meant to reach. */
  readonly count: (situation: string) => void;
}

/** A wire with faults that can be changed while it is in use. */
export class FaultyWire implements Wire {
  readonly #options: FaultyWireOptions;
  faults: WireFaults = CALM_WIRE;
  #dead = false;

  constructor(options: FaultyWireOptions) {
    this.#options = options;
  }

  /** Ends the process: its requests under way are carried out without an answer to it. */
  kill(): void {
    this.#dead = true;
  }

  send(request: HttpRequest, exchange: HttpExchange): { abort(): void } {
    // A process that dies in the midst of its work sends nothing that came after.
    if (this.#dead) return { abort: () => {} };
    const { clock, random, wire, writer, count } = this.#options;
    const { latencyMaxMs, refusal, timeout, lostReply } = this.faults;
    const headers = { ...request.headers, [WRITER_HEADER]: writer };
    const isWatch = request.path.includes("watch=");
    const draw = random();
    let open = true;
    let abortInner = (): void => {};
    const heard = this.#heard(exchange, () => open && !this.#dead);
    const start = (): void => {
      if (!open || (this.#dead && isWatch)) return;
      if (draw < refusal) {
        count(`${request.method} refused`);
        refuse(heard, random);
      } else if (isWatch || draw >= refusal + timeout + lostReply) {
        const sent = wire.send({ ...request, headers }, heard);
        abortInner = () => sent.abort();
      } else if (draw < refusal + timeout) count(`${request.method} never answered`);
      else {
        count(`lost reply on a ${request.method}`);
        wire.send({ ...request, headers }, losing(heard));
      }
    };
    clock.after(1 + random() * latencyMaxMs, start);
    return {
      abort: () => {
        open = false;
        abortInner();
      },
    };
  }

  #heard(exchange: HttpExchange, listening: () => boolean): HttpExchange {
    return {
      response: (status, headers) => listening() && exchange.response(status, headers),
      data: (chunk) => listening() && exchange.data(chunk),
      end: () => listening() && exchange.end(),
      failed: (problem) => listening() && exchange.failed(problem),
    };
  }
}

/** An exchange that only learns that the connection broke. */
function losing(exchange: HttpExchange): HttpExchange {
  return {
    response: () => {},
    data: () => {},
    end: () => exchange.failed({ message: "read ECONNRESET", sent: true }),
    failed: (problem) => exchange.failed(problem),
  };
}

function refuse(exchange: HttpExchange, random: Random): void {
  const [code, reason] = REFUSALS[Math.floor(random() * REFUSALS.length)] ?? [500, "InternalError"];
  const retry: Record<string, string> = code === 429 ? { "retry-after": "1" } : {};
  exchange.response(code, { "content-type": "application/json", ...retry });
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: `simulated ${reason}` };
  exchange.data(new TextEncoder().encode(JSON.stringify(status)));
  exchange.end();
}
