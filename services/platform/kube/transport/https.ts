/**
 * The wire to an API server over sockets: streamed responses on one keep-alive agent, with credentials from a hook. It
 * retries only with fresh credentials, and reads on a connection that was closed while idle.
 */

import type http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { FIELD_MANAGER } from "../../../../protocols/names.ts";
import type { HttpExchange, HttpRequest, Wire } from "../../../../protocols/ports.ts";
import { nodeHttp } from "../../process/node-http.ts";
import { type BurstReading, readInBursts } from "./bursts.ts";
import { AgentKeeper, KEEP_ALIVE_MS, type TlsMaterial } from "./https-agent.ts";

/** What every request carries, and how connections are made. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: TlsMaterial;
}

/**
 * Gives the credentials for the next request; `renew` after the server refused the last ones. Rejects with a one-line
 * message.
 */
export type Authorize = (renew: boolean) => Promise<Credentials>;

/** How to reach a server. */
export interface HttpsWireOptions {
  /** `https://host:port`, with a path when the API is below one. */
  readonly server: string;
  readonly authorize: Authorize;
  /** The proxy's address; absent or null for none. */
  readonly proxy?: string | null;
}

/** A wire that holds connections. */
export type SocketWire = Wire & { close(): void };

/** The part before the slash becomes the manager in managedFields. */
export const USER_AGENT = `${FIELD_MANAGER}/v1 (${process.platform}/${process.arch})`;
/** The peer stopped answering, as opposed to refusing or closing the connection. */
const SILENT_CODES: ReadonlySet<string> = new Set(["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN"]);

/** A wire to one server. */
export function httpsWire({ server, authorize, proxy = null }: HttpsWireOptions): SocketWire {
  const base = new URL(server);
  const agents = new AgentKeeper(base.protocol === "https:", proxy);
  const connection: Connection = { base, prefix: base.pathname.replace(/\/$/, ""), agents, authorize };
  return {
    send: (request, exchange) => {
      const sending = new Sending(connection, request, exchange);
      void sending.start();
      return { abort: () => sending.abort(), readAtOnce: (forMs) => sending.readAtOnce(forMs) };
    },
    close: () => agents.close(),
  };
}

interface Connection {
  readonly base: URL;
  readonly prefix: string;
  readonly agents: AgentKeeper;
  readonly authorize: Authorize;
}

/** One request in flight. */
class Sending {
  readonly #connection: Connection;
  readonly #wanted: HttpRequest;
  readonly #exchange: HttpExchange;
  #open = true;
  #sent = false;
  #renewed = false;
  #repeated = false;
  #answered = false;
  #current: http.ClientRequest | null = null;
  #bursts: BurstReading | null = null;

  constructor(connection: Connection, request: HttpRequest, exchange: HttpExchange) {
    this.#connection = connection;
    this.#wanted = request;
    this.#exchange = exchange;
  }

  async start(): Promise<void> {
    const credentials = await this.#credentials(false);
    if (credentials !== null && this.#open) this.#send(credentials);
  }

  abort(): void {
    this.#open = false;
    this.#current?.destroy();
  }

  readAtOnce(forMs: number): void {
    if (this.#open) this.#bursts?.readAtOnce(forMs);
  }

  async #credentials(renew: boolean): Promise<Credentials | null> {
    try {
      return await this.#connection.authorize(renew);
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  #send(credentials: Credentials): void {
    try {
      this.#request(credentials);
    } catch (error) {
      // A token or path that no header or request line can carry.
      this.#fail(error);
    }
  }

  #request(credentials: Credentials): void {
    const { base, prefix, agents } = this.#connection;
    const { method, path, headers, body } = this.#wanted;
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const request = (base.protocol === "https:" ? https : nodeHttp).request({
      agent: agents.agentFor(credentials.tls),
      host: base.hostname.replace(/^\[|\]$/g, ""),
      port: base.port,
      method,
      path: `${prefix}${path}`,
      headers: { "user-agent": USER_AGENT, ...headers, ...length, ...credentials.headers },
    });
    this.#current = request;
    this.#sent = false;
    request.on("socket", (socket) => this.#connected(socket));
    request.on("response", (response) => void this.#respond(response, credentials));
    request.on("error", (error) => this.#broken(error, request, credentials));
    request.end(body ?? undefined);
  }

  /** The server may have seen the request once the connection is established. */
  #connected(socket: Socket): void {
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const ready = this.#connection.base.protocol === "https:" ? "secureConnect" : "connect";
    const sent = (): void => {
      this.#sent = true;
    };
    if (socket.connecting) socket.once(ready, sent);
    else sent();
  }

  async #respond(response: http.IncomingMessage, used: Credentials): Promise<void> {
    this.#answered = true;
    if (response.statusCode === 401 && !this.#renewed) {
      this.#renewed = true;
      this.#sent = false;
      const fresh = await this.#credentials(true);
      if (fresh === null || !this.#open) return void response.destroy();
      if (JSON.stringify(fresh) !== JSON.stringify(used)) {
        response.resume();
        return this.#send(fresh);
      }
    }
    if (!this.#open) return;
    this.#exchange.response(response.statusCode ?? 0, plainHeaders(response.headers));
    const { gatherMs = 0 } = this.#wanted;
    const bursts = gatherMs > 0 ? readInBursts(response, gatherMs) : null;
    this.#bursts = bursts;
    response.on("data", (chunk: Uint8Array) => {
      if (this.#open) this.#exchange.data(chunk, bursts?.waitedMs() ?? 0);
    });
    response.on("end", () => this.#end());
    response.on("error", (error) => this.#fail(error));
  }

  #broken(error: Error, request: http.ClientRequest, credentials: Credentials): void {
    if (!this.#open || this.#current !== request) return;
    // The server closed the idle connection just before it was used; a read can be repeated.
    const repeatable = this.#wanted.method === "GET" && request.reusedSocket && !this.#answered;
    if (repeatable && !this.#repeated && codeOf(error) === "ECONNRESET") {
      this.#repeated = true;
      this.#send(credentials);
      return;
    }
    this.#fail(error);
  }

  #end(): void {
    if (!this.#open) return;
    this.#open = false;
    // One tick later the connection is free for a request that this end leads to.
    process.nextTick(() => this.#exchange.end());
  }

  #fail(problem: unknown): void {
    if (!this.#open) return;
    this.#open = false;
    const error = problem instanceof Error ? problem : new Error(String(problem));
    const message = `${this.#connection.base.origin}: ${lineOf(error)}`;
    this.#exchange.failed({ message, sent: this.#sent, timedOut: SILENT_CODES.has(codeOf(error)) });
  }
}

/** Headers with one string each. */
export function plainHeaders(headers: http.IncomingHttpHeaders): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name] = typeof value === "string" ? value : value.join(", ");
  }
  return plain;
}

/** Its code; empty for none. */
export function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/** An error in one line. Connecting to a name with several addresses fails with an empty message and nested errors. */
export function lineOf(error: Error): string {
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  return (inner.message || codeOf(inner) || inner.name).split("\n", 1).join("");
}
