/** One GET whose response is read as it arrives: the transport of lists and watches. The caller retries. */
import type { Clock, Sent, Timer, Wire } from "../../../../protocols/ports.ts";
import { ACCEPT_PROTOBUF, isProtobuf, statusText } from "../protobuf/envelope.ts";
import { type Refusal, refusalOf } from "../transport/outcome.policy.ts";

const NEWLINE = 0x0a;

/** How a streamed response ended. */
export type StreamEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Nothing arrived for as long as the caller waits. */
  | { readonly kind: "silent"; readonly message: string }
  /** `timedOut`: the peer had stopped answering some time before the connection broke. */
  | { readonly kind: "failed"; readonly message: string; readonly timedOut: boolean };

/** How the objects in a response are encoded. */
export type StreamForm = "json" | "protobuf";

/** A streamed request. */
export interface StreamRequest {
  readonly path: string;
  /** The preferred encoding: a server without protobuf answers in JSON. */
  readonly form: StreamForm;
  /** How long parts of the response may wait to be read together, in milliseconds; absent for no wait. */
  readonly gatherMs?: number;
}

/** Receives a streamed response. */
export interface StreamSink {
  /** The server accepted the request; `form` is its encoding. */
  opened(form: StreamForm): void;
  data(chunk: Uint8Array, waitedMs: number): void;
  /** Called once, last. */
  closed(end: StreamEnd): void;
}

/** The longest silence, in milliseconds: before the response begins, and between its parts. */
export interface StreamPatience {
  readonly openMs: number;
  readonly silenceMs: number;
}

/** Splits chunks into lines. An incomplete line is kept for the next chunk. */
export class LineSplitter {
  #open: Uint8Array[] = [];

  /**
   * Adds a chunk. `line` receives each complete line without its newline, as a view that is valid during the call only.
   */
  push(chunk: Uint8Array, line: (bytes: Uint8Array) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      if (this.#open.length === 0) {
        line(piece);
      } else {
        const whole = Buffer.concat([...this.#open, piece]);
        this.#open = [];
        line(whole);
      }
    }
    if (start < chunk.length) this.#open.push(chunk.subarray(start));
  }
}

/** A streamed request in flight. */
export class Stream {
  readonly #clock: Clock;
  readonly #patience: StreamPatience;
  readonly #sink: StreamSink;
  readonly #exchange: Sent;
  readonly #refusal: Uint8Array[] = [];
  #status = 0;
  #headers: Readonly<Record<string, string>> = {};
  #heardAtMs: number;
  #timer: Timer;
  #open = true;

  constructor(
    io: { readonly wire: Wire; readonly clock: Clock },
    { path, form, gatherMs = 0 }: StreamRequest,
    patience: StreamPatience,
    sink: StreamSink,
  ) {
    this.#clock = io.clock;
    this.#patience = patience;
    this.#sink = sink;
    this.#heardAtMs = io.clock.monotonicMs();
    this.#timer = io.clock.after(patience.openMs, () => this.#silent(patience.openMs));
    this.#exchange = io.wire.send(
      {
        method: "GET",
        path,
        headers: { accept: form === "json" ? "application/json" : ACCEPT_PROTOBUF },
        body: null,
        gatherMs,
      },
      {
        response: (status, headers) => this.#response(status, headers),
        data: (chunk, waitedMs = 0) => this.#data(chunk, waitedMs),
        end: () => this.#close(this.#status === 200 ? { kind: "complete" } : this.#refused()),
        failed: ({ message, timedOut }) => this.#close({ kind: "failed", message, timedOut: timedOut === true }),
      },
    );
  }

  /** Ends the request; the sink is not called again. */
  abort(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#timer.cancel();
    this.#exchange.abort();
  }

  /** Gathers no parts for so long. */
  readAtOnce(forMs: number): void {
    if (this.#open) this.#exchange.readAtOnce?.(forMs);
  }

  #response(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#open) return;
    this.#status = status;
    this.#headers = headers;
    this.#heardAtMs = this.#clock.monotonicMs();
    this.#timer.cancel();
    this.#watchSilence(this.#patience.silenceMs);
    if (status === 200) this.#sink.opened(isProtobuf(headers) ? "protobuf" : "json");
  }

  #data(chunk: Uint8Array, waitedMs: number): void {
    if (!this.#open) return;
    this.#heardAtMs = this.#clock.monotonicMs();
    if (this.#status === 200) this.#sink.data(chunk, waitedMs);
    else this.#refusal.push(chunk);
  }

  /** One timer serves the whole stream: when it fires, it measures how long the silence has lasted. */
  #watchSilence(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => {
      const leftMs = this.#heardAtMs + this.#patience.silenceMs - this.#clock.monotonicMs();
      if (leftMs > 0) this.#watchSilence(leftMs);
      else this.#silent(this.#patience.silenceMs);
    });
  }

  #silent(silenceMs: number): void {
    this.#exchange.abort();
    this.#close({ kind: "silent", message: `silent for ${silenceMs} ms` });
  }

  #refused(): StreamEnd {
    const body = Buffer.concat(this.#refusal);
    const text = isProtobuf(this.#headers) ? statusText(body) : body.toString("utf8");
    return {
      kind: "refused",
      refusal: refusalOf({ kind: "answer", status: this.#status, headers: this.#headers, text }),
    };
  }

  #close(end: StreamEnd): void {
    if (!this.#open) return;
    this.#open = false;
    this.#timer.cancel();
    this.#sink.closed(end);
  }
}
