/** The worlds of a journey: an API server and a bus, embedded or real, that can be restarted. */
import { setTimeout as pause } from "node:timers/promises";
import type { Clock, Log, Metrics, Transport, Wire } from "../../protocols/ports.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { connectNats } from "../../services/platform/bus/nats.ts";
import { httpsWire } from "../../services/platform/kube/transport/https.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { startKubeApiserver } from "../support/kube-apiserver.ts";
import { freePort, startNatsServer } from "../support/nats-server.ts";
import { seededRandom } from "../support/random.seeded.ts";

/** An API server of a journey. */
export interface JourneyApi {
  wire(): Wire & { close(): void };
  /** Stops it at once; its data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same address. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A bus of a journey. */
export interface JourneyBus {
  /** A transport for one process. */
  connect(member: string): Promise<Transport & { close(): Promise<void> }>;
  /** Kills the server and restarts it after a while; does nothing without a server. */
  restart(awayMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** The embedded API behind its HTTP front. */
export async function embeddedApi(): Promise<JourneyApi> {
  const server = new ApiServer({ clock: realClock(), random: seededRandom(1) });
  const port = await freePort();
  let front = await listen(server, { port });
  const { url } = front;
  return {
    wire: () => httpsWire({ server: url, authorize: () => Promise.resolve({ headers: {}, tls: {} }) }),
    kill: () => front.close(),
    start: async () => {
      front = await listen(server, { port });
    },
    stop: () => front.close(),
  };
}

/** A real kube-apiserver. */
export async function realApi(): Promise<JourneyApi> {
  const server = await startKubeApiserver();
  return {
    wire: () => server.wire(),
    kill: () => server.kill(),
    start: () => server.start(),
    stop: () => server.stop(),
  };
}

/** The bus within one process. */
export function memoryBus(): Promise<JourneyBus> {
  const transport = memoryTransport(realClock());
  return Promise.resolve({
    connect: () => Promise.resolve({ ...transport, close: () => Promise.resolve() }),
    restart: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  });
}

/** A real nats-server. */
export async function natsBus(): Promise<JourneyBus> {
  const server = await startNatsServer();
  const io: { clock: Clock; log: Log; metrics: Metrics } = {
    clock: realClock(),
    log: silentLog,
    metrics: createMetrics(),
  };
  return {
    connect: (member) => connectNats({ servers: [server.url], name: member, ...io }),
    restart: async (awayMs) => {
      await server.kill();
      await pause(awayMs);
      await server.start();
    },
    stop: () => server.stop(),
  };
}
