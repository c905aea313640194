/** A TCP proxy that a test can stall, so that neither side can tell it from a slow network, or cut. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy before one server. */
export interface TcpProxy {
  readonly port: number;
  /** Takes nothing more from the server, so that its clients look slow to it. */
  stall(): void;
  /** Takes from the server again. */
  flow(): void;
  /** Breaks every connection and lets no other through. */
  cut(): void;
  /** Lets connections through again. */
  mend(): void;
  close(): Promise<void>;
}

/** Starts a proxy before a port of this machine. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<{ client: Socket; server: Socket }>();
  let stalled = false;
  let isCut = false;
  const listener = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const pair = { client, server: connect(targetPort, "127.0.0.1") };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      pair.server.destroy();
    };
    for (const socket of [client, pair.server]) socket.on("error", end).on("close", end);
    client.on("data", (chunk) => pair.server.write(chunk));
    pair.server.on("data", (chunk) => client.write(chunk));
    if (stalled) pair.server.pause();
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("the proxy got no port");
  const each = (act: (pair: { client: Socket; server: Socket }) => void) => {
    for (const pair of pairs) act(pair);
  };
  return {
    port: address.port,
    stall() {
      stalled = true;
      each(({ server }) => server.pause());
    },
    flow() {
      stalled = false;
      each(({ server }) => server.resume());
    },
    cut() {
      isCut = true;
      each(({ client }) => client.destroy());
    },
    mend() {
      isCut = false;
    },
    async close() {
      each(({ client }) => client.destroy());
      listener.close();
      await once(listener, "close");
    },
  };
}
