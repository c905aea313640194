/** A wire whose responses a test scripts, request by request. */
import type { HttpExchange, HttpRequest, Wire } from "../../../protocols/ports.ts";

/** One request that waits for the test. */
export interface ScriptedRequest {
  readonly method: string;
  /** Path without its query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: HttpRequest;
  /** Whether the client has given it up. */
  aborted: boolean;
  /** Answers whole; bytes and texts as they are, anything else as JSON. */
  answer(status: number, body: unknown, headers?: Readonly<Record<string, string>>): void;
  /** Accepts, and leaves the answer open. */
  open(headers?: Readonly<Record<string, string>>): void;
  /** Sends one JSON line of an open answer. */
  line(value: unknown): void;
  /** Sends bytes as they are. */
  bytes(sent: string | Uint8Array): void;
  end(): void;
  fail(problem?: { readonly message?: string; readonly sent?: boolean; readonly timedOut?: boolean }): void;
}

/** The wire and its requests. */
export class ScriptedWire implements Wire {
  /** Every request so far. */
  readonly requests: ScriptedRequest[] = [];
  #taken = 0;

  send(request: HttpRequest, exchange: HttpExchange): { abort(): void } {
    const scripted = scriptedRequest(request, exchange);
    this.requests.push(scripted);
    return {
      abort: () => {
        scripted.aborted = true;
      },
    };
  }

  /** The next request that the test has not taken yet; there must be one. */
  next(): ScriptedRequest {
    const request = this.requests[this.#taken++];
    if (request === undefined) throw new Error("nothing more was asked");
    return request;
  }

  /** How many requests wait to be taken. */
  get waiting(): number {
    return this.requests.length - this.#taken;
  }
}

function scriptedRequest(request: HttpRequest, exchange: HttpExchange): ScriptedRequest {
  const url = new URL(request.path, "http://server");
  const bytes = (sent: string | Uint8Array): void => {
    if (!scripted.aborted) exchange.data(typeof sent === "string" ? new TextEncoder().encode(sent) : sent);
  };
  const scripted: ScriptedRequest = {
    method: request.method,
    path: url.pathname,
    query: url.searchParams,
    request,
    aborted: false,
    answer: (status, body, headers = {}) => {
      exchange.response(status, headers);
      bytes(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body));
      scripted.end();
    },
    open: (headers = {}) => exchange.response(200, headers),
    line: (value) => bytes(`${JSON.stringify(value)}\n`),
    bytes,
    end: () => {
      if (!scripted.aborted) exchange.end();
    },
    fail: ({ message = "read ECONNRESET", sent = true, timedOut = false } = {}) => {
      if (!scripted.aborted) exchange.failed({ message, sent, timedOut });
    },
  };
  return scripted;
}
