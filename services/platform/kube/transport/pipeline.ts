/** One connection to an API server, with one batch of requests at a time. */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { HttpRequest } from "../../../../protocols/ports.ts";
import { AnswerStream, type WholeAnswer } from "./answer-stream.ts";
import type { Answer } from "./call.ts";
import { KEEP_ALIVE_MS, type TlsMaterial } from "./https-agent.ts";

/** A connection on which nothing is sent or received for so long ends, in milliseconds. */
const SILENT_MS = 15_000;

/** A request and where its answer goes. */
export interface Job {
  readonly request: HttpRequest;
  readonly done: (answer: Answer) => void;
}

/** What its owner learns. */
export interface PipelineEvents {
  readonly established: () => void;
  /** It can take a batch. */
  readonly idle: () => void;
  /** The server refused the credentials. */
  readonly refused: () => void;
  /** It takes no more batches. */
  readonly ended: (wasEstablished: boolean) => void;
}

/** A socket to a server, which is not connected yet. */
export function socketTo({ protocol, hostname, port }: URL, tls: TlsMaterial): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol !== "https:") return connect({ host, port: Number(port || 80) });
  const servername = isIP(host) > 0 ? "" : host;
  return connectTls({ servername, ...tls, host, port: Number(port || 443), ALPNProtocols: ["http/1.1"] });
}

/** One connection. */
export class Pipeline {
  readonly #socket: Socket;
  readonly #events: PipelineEvents;
  readonly #answers = new AnswerStream();
  #batch: readonly Job[] = [];
  #answered = 0;
  #established = false;
  #retired = false;
  #open = true;

  constructor(socket: Socket, events: PipelineEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.setTimeout(SILENT_MS, () => this.end(`no answer within ${SILENT_MS} ms`, true));
    socket.once("encrypted" in socket ? "secureConnect" : "connect", () => {
      this.#established = true;
      events.established();
    });
    socket.on("data", (chunk: Buffer) => this.#received(chunk));
    socket.on("error", ({ message }) => this.end(message));
    socket.on("close", () => this.end("the server ended the connection"));
  }

  /** Sends requests; `text` is all of them. It must be idle. */
  send(batch: readonly Job[], text: string): void {
    this.#batch = batch;
    this.#answered = 0;
    this.#socket.write(text);
  }

  /** Ends it as soon as its batch is answered. */
  retire(): void {
    this.#retired = true;
    if (this.#answered === this.#batch.length) this.end("retired");
  }

  /** Ends it at once. */
  end(message: string, timedOut = false): void {
    if (!this.#open) return;
    this.#open = false;
    this.#socket.destroy();
    this.#events.ended(this.#established);
    const lost: Answer = { kind: "lost", message, sent: this.#established, timedOut };
    for (const { done } of this.#batch.slice(this.#answered)) done(lost);
  }

  #received(chunk: Buffer): void {
    this.#answers.push(chunk);
    for (let answer = this.#next(); answer !== null; answer = this.#next()) this.#settle(answer);
  }

  #next(): WholeAnswer | null {
    if (!this.#open) return null;
    try {
      return this.#answers.next();
    } catch (problem) {
      this.end(problem instanceof Error ? problem.message : String(problem));
      return null;
    }
  }

  #settle(answer: WholeAnswer): void {
    const job = this.#batch[this.#answered];
    if (job === undefined) {
      this.end("an answer without a request");
      return;
    }
    this.#answered++;
    if (answer.status === 401) this.#events.refused();
    job.done(answer);
    if (this.#answered < this.#batch.length) return;
    if (this.#retired || this.#answers.closes) this.end("retired");
    else if (this.#open) this.#events.idle();
  }
}
