/**
 * One GET whose answer is taken while it arrives: the transport of lists and watches. Trying again is the caller's
 * work.
 */
import type { Clock, Timer, Wire } from "../../../../protocols/ports.ts";
import { ACCEPT_PROTOBUF, isProtobuf, statusText } from "../protobuf/envelope.ts";
import { type Refusal, refusalOf } from "../transport/outcome.policy.ts";

const NEWLINE = 0x0a;

/** How a streamed answer ended. */
export type StreamEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Nothing was heard for as long as the caller's patience lasts. */
  | { readonly kind: "silent"; readonly message: string }
  /** `timedOut`: the connection broke because the other side had gone silent, some time before. */
  | { readonly kind: "failed"; readonly message: string; readonly timedOut: boolean };

/** How the objects in an answer are written. */
export type StreamForm = "json" | "protobuf";

/** What is asked for. */
export interface StreamRequest {
  readonly path: string;
  /** The form that is wanted: a server that does not speak protobuf answers as JSON. */
  readonly form: StreamForm;
  /** How long parts of the answer may wait to be read together, in milliseconds; absent when they need not wait. */
  readonly gatherMs?: number;
}

/** Where a streamed answer arrives. */
export interface StreamSink {
  /** The server has accepted the request and answers in protobuf, or else as JSON. */
  opened(form: StreamForm): void;
  data(chunk: Uint8Array): void;
  /** Called once, last. */
  closed(end: StreamEnd): void;
}

/** How long silence is borne, in milliseconds: before the answer begins, and between its parts. */
export interface StreamPatience {
  readonly openMs: number;
  readonly silenceMs: number;
}

/**
 * Collects chunks and gives each whole line, without its newline; a line that is still open is kept for the next chunk.
 */
export class LineSplitter {
  #open: Uint8Array[] = [];

  /** Takes one chunk; `line` gets a view that is only valid during the call. */
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

/** A streamed answer under way. */
export class Stream {
  readonly #clock: Clock;
  readonly #patience: StreamPatience;
  readonly #sink: StreamSink;
  readonly #exchange: { abort(): void };
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
        data: (chunk) => this.#data(chunk),
        end: () => this.#close(this.#status === 200 ? { kind: "complete" } : this.#refused()),
        failed: ({ message, timedOut }) => this.#close({ kind: "failed", message, timedOut: timedOut === true }),
      },
    );
  }

  /** Ends the request without a word to the sink. */
  abort(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#timer.cancel();
    this.#exchange.abort();
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

  #data(chunk: Uint8Array): void {
    if (!this.#open) return;
    this.#heardAtMs = this.#clock.monotonicMs();
    if (this.#status === 200) this.#sink.data(chunk);
    else this.#refusal.push(chunk);
  }

  /** One timer serves the whole stream: when it fires it looks how long the silence has really lasted. */
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
