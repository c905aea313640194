/** A small HTTP server on the loopback whose answers a test decides, and a client's view of one exchange with it. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpRequest, Wire } from "../../../protocols/ports.ts";

/** A running server. */
export interface LocalServer {
  readonly url: string;
  /** How many connections it has seen. */
  connections(): number;
  close(): Promise<void>;
}

/** Starts it. */
export async function localServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<LocalServer> {
  let connections = 0;
  const server = createServer(answer).on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** How an exchange ended. */
export type Ending =
  | { readonly kind: "answer"; readonly status: number; readonly text: string }
  | { readonly kind: "failed"; readonly message: string; readonly sent: boolean };

/** A GET of this path. */
export const get = (path: string): HttpRequest => ({ method: "GET", path, headers: {}, body: null });

/** A POST of this path. */
export const post = (path: string): HttpRequest => ({ method: "POST", path, headers: {}, body: "{}" });

/** Sends one request and waits for its end. */
export function exchanged(wire: Wire, request: HttpRequest): Promise<Ending> {
  return new Promise((resolve) => {
    let status = 0;
    let text = "";
    wire.send(request, {
      response: (code) => {
        status = code;
      },
      data: (chunk) => {
        text += Buffer.from(chunk).toString();
      },
      end: () => resolve({ kind: "answer", status, text }),
      failed: ({ message, sent }) => resolve({ kind: "failed", message, sent }),
    });
  });
}
