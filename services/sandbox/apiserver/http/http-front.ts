/** Serves the embedded API on a socket with node:http. */
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpRequest } from "../../../../protocols/ports.ts";
import { plainHeaders } from "../../../platform/kube/transport/https.ts";
import { nodeHttp } from "../../../platform/process/node-http.ts";
import { isOwnHost } from "../../../platform/process/own-host.ts";
import { printable } from "../../../platform/process/printable.ts";
import type { Answer, Receiver } from "../answer.ts";
import type { ApiServer } from "../apiserver.ts";
import type { Serve } from "../embedded-wire.ts";

/** Where to listen, and which token to require. */
export interface ListenOptions {
  /** 0 for any free port. */
  readonly port: number;
  /** The address to bind; the loopback when absent. */
  readonly host?: string;
  /** The bearer token to require; without one every request is admitted. */
  readonly token?: string;
}

/** A listening server. */
export interface HttpFront {
  /** Such as `http://127.0.0.1:40000`. */
  readonly url: string;
  /** Closes every connection and frees the port. */
  close(): Promise<void>;
}

/** A watcher with more unread bytes is too slow and is disconnected, as by the real server. */
const BACKLOG_BYTES_MAX = 256 * 1024 * 1024;

/** Longer than clients keep idle connections: the server never closes one while a request is on its way. */
const KEEP_ALIVE_MS = 120_000;

/** Serves the embedded API over HTTP. Rejects when the port is not available. */
export async function listen(apiserver: ApiServer, options: ListenOptions): Promise<HttpFront> {
  const { host = "127.0.0.1", port, token = null } = options;
  const serve = apiserver.serving(token);
  const server = nodeHttp.createServer((request, response) => receive(serve, request, response));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 0;
  server.listen(port, host);
  await once(server, "listening");
  const { port: bound } = server.address() as AddressInfo;
  return { url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

/** Without a token, the Host is what keeps out a web page whose name resolves to this server. */
function receive(serve: Serve, incoming: IncomingMessage, response: ServerResponse): void {
  if (!isOwnHost(incoming.headers.host, [])) {
    const message = `Host ${printable(incoming.headers.host ?? "")} is refused: use an address, or a name without a dot`;
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403, message };
    response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify(status));
    return;
  }
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => serve(requestOf(incoming, Buffer.concat(chunks)), new HttpReceiver(response)));
  incoming.on("error", () => response.destroy());
}

function requestOf(incoming: IncomingMessage, body: Buffer): HttpRequest {
  const { method = "GET", url = "/" } = incoming;
  return {
    method,
    path: url,
    headers: plainHeaders(incoming.headers),
    body: body.length === 0 ? null : body.toString(),
  };
}

/** Writes one response, in pieces no faster than the client reads. */
class HttpReceiver implements Receiver {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  broken(): void {
    this.#response.destroy();
  }

  answer({ status, headers, body }: Answer): void {
    const response = this.#response;
    if (response.destroyed) return;
    if (typeof body === "string") {
      response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
      return;
    }
    response.writeHead(status, headers);
    if ("open" in body) this.#stream(body);
    else this.#pieces(body[Symbol.iterator]());
  }

  #pieces(pieces: Iterator<string>): void {
    const response = this.#response;
    for (let next = pieces.next(); !response.destroyed; next = pieces.next()) {
      if (next.done === true) {
        response.end();
        return;
      }
      if (!response.write(next.value)) {
        response.once("drain", () => this.#pieces(pieces));
        return;
      }
    }
  }

  #stream(body: Extract<Answer["body"], { open: unknown }>): void {
    const response = this.#response;
    response.flushHeaders();
    const stream = body.open({
      data: (chunk) => {
        response.write(chunk);
        if (response.writableLength > BACKLOG_BYTES_MAX) response.destroy();
      },
      end: () => response.end(),
      broken: () => response.destroy(),
    });
    response.on("close", () => stream.abort());
    stream.start();
  }
}
