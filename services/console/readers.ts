/**
 * Gives the requests of a console their turn (reader-turns.ts). Probes have none to wait for. One socket has one
 * request at a time: a client that sends the next before it has the answer is cut off.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Metrics } from "../../protocols/ports.ts";
import { ReaderTurns } from "./reader-turns.ts";

const REFUSED_METRIC = {
  name: "vigil_console_refused_total",
  help: "Requests to the console that were refused because readers asked for too much, by reason: busy or pipelined.",
  labels: ["reason"],
} as const;

/** The readers of one console. */
export class Readers {
  readonly #turns: ReaderTurns;
  readonly #refused: ReturnType<Metrics["counter"]>;
  /** Sockets with a request that is not answered yet. */
  readonly #busy = new WeakSet<Socket>();
  /** Sockets that will be cut off. */
  readonly #ending = new WeakSet<Socket>();

  constructor({ clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics }) {
    this.#turns = new ReaderTurns(clock);
    this.#refused = metrics.counter(REFUSED_METRIC);
  }

  /** Answers a request when it is its turn; otherwise calls `refuse`. */
  take(request: IncomingMessage, response: ServerResponse, answers: ReaderAnswers): void {
    const { socket } = request;
    if (this.#ending.has(socket)) return;
    if (this.#busy.has(socket)) {
      this.#refused.add(1, "pipelined");
      this.#ending.add(socket);
      socket.pause();
      this.#turns.hold(() => socket.destroy());
      return;
    }
    this.#busy.add(socket);
    response.once("close", () => this.#busy.delete(socket));
    const isTaken = this.#turns.take({
      begin(done) {
        response.once("close", done);
        if (response.closed || response.destroyed) done();
        else answers.answer(done);
      },
      refuse: () => answers.refuse(),
      cut: () => socket.destroy(),
    });
    if (!isTaken) this.#refused.add(1, "busy");
  }

  stop(): void {
    this.#turns.stop();
  }
}

/** How a request is answered, or refused. */
interface ReaderAnswers {
  /** `streams` is called when the answer has become a stream, which takes no turn. */
  answer(streams: () => void): void;
  refuse(): void;
}
