/**
 * Admits the requests of a console through the shared limit of readers (reader-turns.ts). Probes are answered at once.
 * One socket has one request at a time and is not read meanwhile: a client that sends the next request before it has
 * the answer is disconnected.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Metrics } from "../../protocols/ports.ts";
import type { ReaderTurns } from "../platform/process/reader-turns.ts";

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

  constructor({ turns, metrics }: { readonly turns: ReaderTurns; readonly metrics: Metrics }) {
    this.#turns = turns;
    this.#refused = metrics.counter(REFUSED_METRIC);
  }

  /** Answers a request once it is admitted; otherwise calls `refuse`. */
  onRequest({ socket }: IncomingMessage, response: ServerResponse, answers: ReaderAnswers): void {
    if (!this.#isAlone(socket, response)) return;
    if (answers.isProbe) {
      answers.answer(() => {});
      return;
    }
    const isAdmitted = this.#turns.request({
      begin: (done) => {
        response.once("close", done);
        // The next request on this connection would not be admitted at once.
        if (this.#turns.isCrowded) response.shouldKeepAlive = false;
        if (response.closed || response.destroyed) done();
        else
          answers.answer(() => {
            socket.resume();
            done();
          });
      },
      refuse: () => answers.refuse(),
      cut: () => socket.destroy(),
    });
    if (!isAdmitted) this.#refused.add(1, "busy");
  }

  /** Ends the connection of a client that sends requests without waiting for answers. */
  cut(socket: Socket): void {
    this.#refused.add(1, "pipelined");
    this.#ending.add(socket);
    socket.pause();
    this.#turns.delay(() => socket.destroy());
  }

  /** Whether a request is the only one of its socket, which is then not read until it is answered. */
  #isAlone(socket: Socket, response: ServerResponse): boolean {
    if (this.#ending.has(socket)) return false;
    if (this.#busy.has(socket)) {
      this.cut(socket);
      return false;
    }
    this.#busy.add(socket);
    socket.pause();
    response.once("close", () => {
      this.#busy.delete(socket);
      if (!this.#ending.has(socket)) socket.resume();
    });
    return true;
  }

  stop(): void {
    this.#turns.stop();
  }
}

/** How a request is answered, or refused. */
interface ReaderAnswers {
  readonly isProbe: boolean;
  /** `streams` is called when the answer has become a stream, which no longer counts towards the limit. */
  answer(streams: () => void): void;
  refuse(): void;
}
