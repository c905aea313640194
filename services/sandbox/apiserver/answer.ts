/** Responses of the embedded API before they are sent. */

import type { JsonObject } from "./api-objects.ts";
import type { ApiFailure } from "./api-status.ts";
import type { StreamSink } from "./http/watch-stream.ts";

/** A stream that has been opened and has sent nothing yet; call `start` once. */
export interface Streaming {
  start(): void;
  abort(): void;
}

/** A response: a body in one string or in pieces, or a stream that lasts until either side ends it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Iterable<string> | { open(sink: StreamSink): Streaming };
}

/** Receives the response to one request: one of the two methods is called, once. */
export interface Receiver {
  answer(answer: Answer): void;
  /** The connection breaks without a response; `sent` says whether the request was received. */
  broken(message: string, sent: boolean): void;
}

const JSON_HEADERS = { "content-type": "application/json" };

/** A response whose body is JSON text, or pieces of it. */
export function jsonAnswer(status: number, body: string | Iterable<string>): Answer {
  return { status, headers: JSON_HEADERS, body };
}

/** A response whose body is an object. */
export function objectAnswer(status: number, body: JsonObject): Answer {
  return jsonAnswer(status, `${JSON.stringify(body)}\n`);
}

/** The response to a request that failed. */
export function failureAnswer(failure: ApiFailure): Answer {
  const retry = failure.retryAfterSeconds;
  const headers = retry === null ? JSON_HEADERS : { ...JSON_HEADERS, "retry-after": String(retry) };
  return { status: failure.code, headers, body: `${JSON.stringify(failure.status())}\n` };
}
