/** A TCP proxy that a test can stall, which both sides see as a slow network, or cut. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

type Side = "client" | "server";

/** A proxy before one server. */
export interface TcpProxy {
  readonly port: number;
  /** Stops reading from one side, by default the server, to which its clients then appear slow. */
  stall(side?: Side): void;
  /** Reads from both sides again and passes on what was delayed. */
  flow(): void;
  /** Breaks every connection and accepts no new one. */
  cut(): void;
  /** Accepts connections again. */
  mend(): void;
  close(): Promise<void>;
}

type Pair = Readonly<Record<Side, Socket>>;

/** Starts a proxy before a port of this machine. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let stalled: Side | null = null;
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
    if (stalled !== null) pair[stalled].pause();
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("the proxy got no port");
  const each = (act: (pair: Pair) => void) => {
    for (const pair of pairs) act(pair);
  };
  return {
    port: address.port,
    stall(side = "server") {
      stalled = side;
      each((pair) => pair[side].pause());
    },
    flow() {
      stalled = null;
      each(({ client, server }) => [client, server].map((socket) => socket.resume()));
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
