/**
 * Sends many small requests over few connections: those of some milliseconds go out together, and their answers come
 * back together (HTTP/1.1 pipelining). One connection has one batch at a time:
 *
 *   send ──▶ waiting ──32, or after 50 ms──▶ a batch ──▶ an idle connection, else a new one ──▶ answers in order
 *
 * A slow answer delays those behind it, so this is for requests that no webhook delays, such as renewals of leases. It
 * retries nothing.
 */
import type { Clock, HttpRequest, Timer } from "../../../../protocols/ports.ts";
import type { Answer } from "./call.ts";
import type { Credentials, HttpsWireOptions } from "./https.ts";
import { type Job, Pipeline, socketTo } from "./pipeline.ts";
import { headOf, requestText } from "./request-text.ts";

/** How long requests of less than a batch are gathered, in milliseconds. */
const GATHER_MS = 50;
/** The same after a connection that could not be made. */
const UNREACHABLE_MS = 1000;
/** Requests in one batch. */
const BATCH_MAX = 32;
/** With one batch after the other on each, a server that takes 5 ms for a write gets 20,000 a second. */
const CONNECTIONS_MAX = 100;

/** Where to, and with which credentials. */
export type PipelinesOptions = Pick<HttpsWireOptions, "server" | "authorize">;

/** The connections to one server. */
export class Pipelines {
  readonly #options: PipelinesOptions;
  readonly #clock: Clock;
  readonly #server: URL;
  readonly #all = new Set<Pipeline>();
  /** The last one to become idle is used first, so that a quiet process keeps few. */
  #idle: Pipeline[] = [];
  #jobs: Job[] = [];
  /** How many of them have been sent. */
  #taken = 0;
  #timer: Timer | null = null;
  #flushing = false;
  #reachable = true;
  #credentials: Credentials | null = null;
  #head = "";

  constructor(options: PipelinesOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#server = new URL(options.server);
  }

  /** Sends a request soon, and calls `done` once, later. */
  send(request: HttpRequest, done: (answer: Answer) => void): void {
    this.#jobs.push({ request, done });
    if (this.#waiting < BATCH_MAX || !this.#reachable) this.#flushLater();
    else if (this.#idle.length > 0 || this.#all.size < CONNECTIONS_MAX) void this.#flush(BATCH_MAX);
  }

  /** Ends all connections; requests without an answer fail. */
  close(): void {
    this.#timer?.cancel();
    for (const pipeline of this.#all) pipeline.end("closed");
    this.#fail("closed");
  }

  get #waiting(): number {
    return this.#jobs.length - this.#taken;
  }

  #flushLater(): void {
    this.#timer ??= this.#clock.after(this.#reachable ? GATHER_MS : UNREACHABLE_MS, () => {
      this.#timer = null;
      void this.#flush(1);
    });
  }

  /** Sends what waits, in batches of `least` at least. */
  async #flush(least: number): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    try {
      this.#adopt(await this.#options.authorize(false));
    } catch (problem) {
      this.#fail(problem instanceof Error ? problem.message : String(problem));
    }
    this.#flushing = false;
    while (this.#waiting >= least) {
      const pipeline = this.#idle.pop() ?? this.#opened();
      if (pipeline === null) break;
      this.#feed(pipeline);
    }
    if (this.#waiting > 0) this.#flushLater();
  }

  /** Nothing can be sent: there are no credentials, or some that no header can carry. */
  #fail(message: string): void {
    const failed = this.#jobs.slice(this.#taken);
    this.#jobs = [];
    this.#taken = 0;
    for (const { done } of failed) done({ kind: "lost", message, sent: false, timedOut: false });
  }

  /** Connections with other certificates end once they are idle. */
  #adopt(credentials: Credentials): void {
    const before = this.#credentials;
    if (before === credentials) return;
    this.#head = headOf(this.#server, credentials.headers);
    this.#credentials = credentials;
    if (before === null || JSON.stringify(before.tls) === JSON.stringify(credentials.tls)) return;
    for (const pipeline of this.#all) pipeline.retire();
  }

  /** A new connection; null where there are enough. */
  #opened(): Pipeline | null {
    if (this.#all.size >= CONNECTIONS_MAX) return null;
    const pipeline = new Pipeline(socketTo(this.#server, this.#credentials?.tls ?? {}), {
      established: () => {
        this.#reachable = true;
      },
      idle: () => {
        if (this.#waiting >= BATCH_MAX) this.#feed(pipeline);
        else this.#idle.push(pipeline);
      },
      refused: () => void this.#options.authorize(true).catch(() => {}),
      ended: (wasEstablished) => {
        this.#reachable &&= wasEstablished;
        this.#all.delete(pipeline);
        this.#idle = this.#idle.filter((other) => other !== pipeline);
      },
    });
    this.#all.add(pipeline);
    return pipeline;
  }

  #feed(pipeline: Pipeline): void {
    const batch = this.#jobs.slice(this.#taken, this.#taken + BATCH_MAX);
    this.#taken += batch.length;
    if (this.#taken * 2 > this.#jobs.length) {
      this.#jobs = this.#jobs.slice(this.#taken);
      this.#taken = 0;
    }
    const prefix = this.#server.pathname.replace(/\/$/, "");
    pipeline.send(batch, batch.map(({ request }) => requestText(request, prefix, this.#head)).join(""));
  }
}
