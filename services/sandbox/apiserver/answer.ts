/** What the server answers, before it is put on a wire. */

import type { JsonObject } from "./api-objects.ts";
import type { ApiFailure } from "./api-status.ts";
import type { StreamSink } from "./http/watch-stream.ts";

/** A stream that was opened and has sent nothing yet; `start` may be called once. */
export interface Streaming {
  start(): void;
  abort(): void;
}

/** An answer: a body in one text or in pieces, or a stream that goes on until either side ends it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Iterable<string> | { open(sink: StreamSink): Streaming };
}

/** Where the answer to one request goes: one of the two is called, once. */
export interface Receiver {
  answer(answer: Answer): void;
  /** The connection breaks without an answer; `sent` tells whether the request was seen. */
  broken(message: string, sent: boolean): void;
}

const JSON_HEADERS = { "content-type": "application/json" };

/** An answer whose body is JSON text, or pieces of it. */
export function jsonAnswer(status: number, body: string | Iterable<string>): Answer {
  return { status, headers: JSON_HEADERS, body };
}

/** An answer whose body is an object. */
export function objectAnswer(status: number, body: JsonObject): Answer {
  return jsonAnswer(status, `${JSON.stringify(body)}\n`);
}

/** The answer to a request that failed. */
export function failureAnswer(failure: ApiFailure): Answer {
  const retry = failure.retryAfterSeconds;
  const headers = retry === null ? JSON_HEADERS : { ...JSON_HEADERS, "retry-after": String(retry) };
  return { status: failure.code, headers, body: `${JSON.stringify(failure.status())}\n` };
}
