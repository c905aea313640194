/** The links of a member of Vigil to the API server and to the bus, each of which a scene can cut. */
import type { Clock, HttpExchange, Stop, Transport, Wire } from "../../../protocols/ports.ts";

/** A wire that breaks as a network does: open requests fail, and new ones are refused, until it is restored. */
export class BreakableWire implements Wire {
  readonly #inner: Wire;
  readonly #clock: Pick<Clock, "soon">;
  readonly #open = new Map<HttpExchange, Stop>();
  #state: "whole" | "broken" | "dead" = "whole";

  constructor(inner: Wire, clock: Pick<Clock, "soon">) {
    this.#inner = inner;
    this.#clock = clock;
  }

  send(...[request, exchange]: Parameters<Wire["send"]>): ReturnType<Wire["send"]> {
    if (this.#state !== "whole") {
      const refused = (): void => exchange.failed({ message: "connect ECONNREFUSED", sent: false });
      if (this.#state === "broken") this.#clock.soon(refused);
      return { abort: () => {} };
    }
    const sent = this.#inner.send(request, {
      response: (status, headers) => exchange.response(status, headers),
      data: (chunk) => exchange.data(chunk),
      end: () => this.#closed(exchange, () => exchange.end()),
      failed: (problem) => this.#closed(exchange, () => exchange.failed(problem)),
    });
    this.#open.set(exchange, () => sent.abort());
    return { abort: () => this.#closed(exchange, () => sent.abort()) };
  }

  cut(): void {
    this.#state = "broken";
    for (const exchange of this.#drop()) exchange.failed({ message: "read ECONNRESET", sent: true });
  }

  restore(): void {
    this.#state = "whole";
  }

  /** Ends with its process, which hears of nothing any more. */
  die(): void {
    this.#state = "dead";
    this.#drop();
  }

  #drop(): HttpExchange[] {
    const open = [...this.#open];
    this.#open.clear();
    for (const [, abort] of open) abort();
    return open.map(([exchange]) => exchange);
  }

  #closed(exchange: HttpExchange, last: () => void): void {
    this.#open.delete(exchange);
    last();
  }
}

/** A transport that ends with its process: after `die` nothing leaves, and nothing arrives. */
export class MortalTransport implements Transport {
  readonly #inner: Transport;
  #isAlive = true;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  publish(...[subject, payload]: Parameters<Transport["publish"]>): void {
    if (this.#isAlive) this.#inner.publish(subject, payload);
  }

  subscribe(...[pattern, receive]: Parameters<Transport["subscribe"]>): Stop {
    return this.#inner.subscribe(pattern, (payload, subject) => {
      if (this.#isAlive) receive(payload, subject);
    });
  }

  connected(): boolean {
    return this.#isAlive;
  }

  onConnection(): Stop {
    return () => {};
  }

  die(): void {
    this.#isAlive = false;
  }
}
