/**
 * Sends many small requests over few connections: those of some milliseconds go out together, and a connection carries
 * 32 before the first is answered (HTTP/1.1 pipelining). A slow answer delays those behind it, so this is for requests
 * that no webhook delays, such as renewals of leases. It retries nothing.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { buildConnector, Client, type Dispatcher } from "undici";
import type { Clock, HttpRequest, Timer } from "../../../../protocols/ports.ts";
import type { Answer } from "./call.ts";
import { type Credentials, codeOf, type HttpsWireOptions, lineOf, plainHeaders, USER_AGENT } from "./https.ts";
import { KEEP_ALIVE_MS, type TlsMaterial } from "./https-agent.ts";

/** How long requests are gathered, in milliseconds. */
const GATHER_MS = 50;
/** A connection on which nothing is received for so long ends, in milliseconds. */
const SILENT_MS = 15_000;
/** Requests on one connection. */
const BATCH_MAX = 32;
/** A server that takes 5 ms for a write gets 20,000 a second. */
const CONNECTIONS_MAX = 100;
const LIMITS = { pipelining: BATCH_MAX, headersTimeout: SILENT_MS, bodyTimeout: SILENT_MS };
const CONNECT = { timeout: SILENT_MS, keepAliveInitialDelay: KEEP_ALIVE_MS, allowH2: false };
/** Any request may follow another. What was sent is not repeated when the connection is lost, see `Exchange`. */
const SHARED = { idempotent: true, blocking: false };

type Done = (answer: Answer) => void;

/** The connections to one server. */
export class Pipelines {
  readonly #options: Pick<HttpsWireOptions, "server" | "authorize">;
  readonly #clock: Clock;
  #waiting: Exchange[] = [];
  #timer: Timer | null = null;
  #lines: Line[] = [];
  #tls: TlsMaterial = {};

  constructor(options: Pick<HttpsWireOptions, "server" | "authorize">, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Sends a request soon, and calls `done` once, later. */
  send(request: HttpRequest, done: Done): void {
    const answered: Done = (answer) => {
      if (answer.kind === "answer" && answer.status === 401) this.#options.authorize(true).catch(() => {});
      done(answer);
    };
    this.#waiting.push(new Exchange(request, answered));
    this.#flushLater();
  }

  /** Ends all connections; requests without an answer fail. */
  close(): void {
    this.#timer?.cancel();
    for (const exchange of this.#waiting.splice(0)) exchange.fail("closed");
    for (const { client } of this.#lines) void client.destroy(new Error("closed"));
  }

  #flushLater(): void {
    this.#timer ??= this.#clock.after(GATHER_MS, () => void this.#flush());
  }

  async #flush(): Promise<void> {
    const credentials = await this.#options.authorize(false).catch(lineOf);
    this.#timer = null;
    if (typeof credentials === "string") {
      for (const exchange of this.#waiting.splice(0)) exchange.fail(credentials);
      return;
    }
    this.#adopt(credentials.tls);
    const waiting = this.#waiting;
    let taken = 0;
    for (let line = this.#idle(); line !== null && taken < waiting.length; line = this.#idle()) {
      line.send(waiting.slice(taken, taken + BATCH_MAX), credentials.headers);
      taken += BATCH_MAX;
    }
    this.#waiting = waiting.slice(taken);
    if (this.#waiting.length > 0) this.#flushLater();
  }

  /** Connections with other certificates end once they are idle. */
  #adopt(tls: TlsMaterial): void {
    if (tls === this.#tls || JSON.stringify(tls) === JSON.stringify(this.#tls)) return;
    this.#tls = tls;
    for (const { client } of this.#lines.splice(0)) void client.close();
  }

  /** A connection without requests; null where there are enough. */
  #idle(): Line | null {
    const idle = this.#lines.find(({ client }) => client.stats.size === 0);
    if (idle !== undefined || this.#lines.length === CONNECTIONS_MAX) return idle ?? null;
    const line = new Line(new URL(this.#options.server), this.#tls);
    this.#lines.push(line);
    return line;
  }
}

/** One connection. */
class Line {
  readonly client: Client;
  readonly #prefix: string;
  #socket: Socket | null = null;

  constructor({ origin, pathname }: URL, tls: TlsMaterial) {
    this.#prefix = pathname.replace(/\/$/, "");
    const connector = buildConnector({ ...tls, ...CONNECT });
    this.client = new Client(origin, {
      ...LIMITS,
      connect: (options, callback) =>
        connector(options, (...result) => {
          this.#socket = result[1];
          callback(...result);
        }),
    });
  }

  /** Sends these in as few segments as they fit into. */
  send(exchanges: readonly Exchange[], credentials: Credentials["headers"]): void {
    const socket = this.#socket;
    socket?.cork();
    for (const exchange of exchanges) {
      const { method, path, headers: own, body } = exchange.request;
      const headers = { "user-agent": USER_AGENT, ...own, ...credentials };
      this.client.dispatch({ ...SHARED, method, path: `${this.#prefix}${path}`, headers, body }, exchange);
    }
    // Undici looks for the end of an idle connection before it writes.
    setImmediate(() => socket?.uncork());
  }
}

/** One request, and what undici calls during it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly request: HttpRequest;
  readonly #done: Done;
  #chunk: Buffer | null = null;
  #status = 0;
  #headers: Readonly<Record<string, string>> = {};
  #sent = false;

  constructor(request: HttpRequest, done: Done) {
    this.request = request;
    this.#done = done;
  }

  onRequestStart(): void {
    if (this.#sent) throw new Error("the connection was lost");
    this.#sent = true;
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    if (status >= 300) this.#headers = plainHeaders(headers);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#chunk = this.#chunk === null ? chunk : Buffer.concat([this.#chunk, chunk]);
  }

  onResponseEnd(): void {
    const text = this.#chunk?.toString() ?? "";
    this.#done({ kind: "answer", status: this.#status, headers: this.#headers, text });
  }

  onResponseError(_: unknown, error: Error): void {
    this.fail(lineOf(error), codeOf(error).includes("TIMEOUT"));
  }

  fail(message: string, timedOut = false): void {
    this.#done({ kind: "lost", message, sent: this.#sent, timedOut });
  }
}
