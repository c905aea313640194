/**
 * Reads the answers to requests that were sent one after the other on one connection (HTTP/1.1 pipelining). It reads
 * what API servers send to a write: a length or chunks, no compression. Pure.
 */
import type { Answer } from "./call.ts";

/** One whole answer. */
export type WholeAnswer = Extract<Answer, { kind: "answer" }>;

/** A body and where it ends, or null while a part of it is missing. */
type Body = { readonly text: string; readonly end: number } | null;

const STATUS = /^HTTP\/1\.1 (\d{3})/;
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;
const CLOSES = /\r\nconnection: *close/i;
const RETRY_AFTER = /\r\nretry-after: *([^\r]*)/i;
const NO_HEADERS = {};
const HEAD_BYTES_MAX = 64 * 1024;

/** The answers of one connection. */
export class AnswerStream {
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #closes = false;

  /** Whether the server has said that it ends the connection after its last answer. */
  get closes(): boolean {
    return this.#closes;
  }

  /** Adds received bytes. */
  push(chunk: Buffer): void {
    const rest = this.#bytes.subarray(this.#start);
    this.#bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    this.#start = 0;
  }

  /** Takes the next answer; null while a part of it is missing. Throws an Error for what is no answer. */
  next(): WholeAnswer | null {
    for (;;) {
      const headEnd = this.#bytes.indexOf("\r\n\r\n", this.#start, "latin1");
      if (headEnd < 0 && this.#bytes.length - this.#start > HEAD_BYTES_MAX) throw new Error("an answer without end");
      if (headEnd < 0) return null;
      const head = this.#bytes.toString("latin1", this.#start, headEnd);
      const status = Number(STATUS.exec(head)?.[1] ?? Number.NaN);
      if (Number.isNaN(status)) throw new Error("an answer that is not HTTP/1.1");
      if (status < 200) {
        this.#start = headEnd + 4;
        continue;
      }
      const body = this.#body(status, head, headEnd + 4);
      if (body === null) return null;
      this.#start = body.end;
      this.#closes ||= CLOSES.test(head);
      return { kind: "answer", status, headers: status < 300 ? NO_HEADERS : retryAfterOf(head), text: body.text };
    }
  }

  #body(status: number, head: string, from: number): Body {
    if (status === 204 || status === 304) return { text: "", end: from };
    const length = LENGTH.exec(head)?.[1];
    if (length !== undefined) {
      const end = from + Number(length);
      return end > this.#bytes.length ? null : { text: this.#bytes.toString("utf8", from, end), end };
    }
    if (!CHUNKED.test(head)) throw new Error("an answer without a length");
    return this.#chunks(from);
  }

  #chunks(from: number): Body {
    const pieces: Buffer[] = [];
    for (let at = from; ; ) {
      const lineEnd = this.#bytes.indexOf("\r\n", at, "latin1");
      if (lineEnd < 0) return null;
      const size = Number.parseInt(this.#bytes.toString("latin1", at, lineEnd), 16);
      if (!(size >= 0)) throw new Error("a chunk without a size");
      const end = lineEnd + 2 + size + 2;
      if (end > this.#bytes.length) return null;
      if (size === 0) return { text: Buffer.concat(pieces).toString("utf8"), end };
      pieces.push(this.#bytes.subarray(lineEnd + 2, end - 2));
      at = end;
    }
  }
}

function retryAfterOf(head: string): Readonly<Record<string, string>> {
  const seconds = RETRY_AFTER.exec(head)?.[1];
  return seconds === undefined ? NO_HEADERS : { "retry-after": seconds };
}
