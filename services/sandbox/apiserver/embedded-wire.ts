/** The embedded API as a wire that is a function call: without a socket, the complete response is passed on at once. */
import type { Clock, HttpExchange, HttpRequest, Wire } from "../../../protocols/ports.ts";
import { httpDate } from "../../domain/api-time.ts";
import type { Answer, Receiver } from "./answer.ts";

/** Answers requests, never within the call. */
export type Serve = (request: HttpRequest, receiver: Receiver) => void;

/** A wire to an API server; each response carries the time of its clock. */
export function wireTo(serve: Serve, clock: Pick<Clock, "wallMs">): Wire {
  return {
    send(request, exchange) {
      const delivery = new Delivery(exchange, clock);
      serve(request, delivery);
      return { abort: () => delivery.abort() };
    },
  };
}

/** Delivers one response to its exchange; after an abort nothing more arrives there. */
class Delivery implements Receiver {
  readonly #exchange: HttpExchange;
  readonly #clock: Pick<Clock, "wallMs">;
  #open = true;
  #stopStream: () => void = () => undefined;

  constructor(exchange: HttpExchange, clock: Pick<Clock, "wallMs">) {
    this.#exchange = exchange;
    this.#clock = clock;
  }

  abort(): void {
    this.#open = false;
    this.#stopStream();
  }

  broken(message: string, sent: boolean): void {
    if (!this.#open) return;
    this.#open = false;
    this.#exchange.failed({ message, sent });
  }

  answer({ status, headers, body }: Answer): void {
    if (!this.#open) return;
    this.#exchange.response(status, { ...headers, date: httpDate(this.#clock.wallMs()) });
    if (typeof body === "object" && "open" in body) {
      const stream = body.open({
        data: (chunk) => this.#exchange.data(chunk),
        end: () => this.#exchange.end(),
        broken: () => this.broken("connection reset by peer", true),
      });
      this.#stopStream = () => stream.abort();
      stream.start();
      return;
    }
    for (const piece of typeof body === "string" ? [body] : body) {
      if (this.#open) this.#exchange.data(Buffer.from(piece));
    }
    if (this.#open) this.#exchange.end();
  }
}
