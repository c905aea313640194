/** Measures the cost of a message from publish to handler, in memory and over NATS in the same run. */
import type { ServiceName, Transport } from "../../protocols/ports.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { connectNats } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { findNatsServer } from "../support/nats-programs.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { type HeartbeatSettings, heartbeatsOnMemory, heartbeatsOverNats } from "./bus.heartbeats.ts";
import { type BenchReport, type Measurement, measurement } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";

const MESSAGES = 2_000;
const HEARTBEATS = 100;
const RUNS = 5;
const NODES = 20_000;
const WINDOW_MS = 10_000;

/**
 * CPU per message and per heartbeat: first for batches as the observer sends and the node service reads them, then for
 * the two services themselves.
 */
export async function bus(options: BenchOptions): Promise<BenchReport> {
  const { runs = RUNS, windowMs = WINDOW_MS, nodes: [nodes = NODES] = [] } = options;
  const settings = { nodes, windowMs, runs };
  const measurements: Measurement[] = await overTransport("memory", memoryTransport(realClock()), runs);
  measurements.push(...(await heartbeatsOnMemory(settings)));
  if (findNatsServer() !== null) measurements.push(...(await overNats(settings)));
  const load = `${MESSAGES} batches of ${HEARTBEATS} heartbeats; ${nodes} nodes renewed each 10 s`;
  return { bench: "bus", load, warmUp: "one run", measurements };
}

async function overNats(settings: HeartbeatSettings): Promise<Measurement[]> {
  const server = await startNatsServer();
  const about = { name: "bench", clock: realClock(), log: silentLog, metrics: createMetrics() };
  const nats = await connectNats({ ...about, servers: [server.url] });
  try {
    const measurements = await overTransport("NATS", nats, settings.runs);
    return [...measurements, ...(await heartbeatsOverNats(server.url, nats, settings))];
  } finally {
    await nats.close();
    await server.stop();
  }
}

async function overTransport(name: string, transport: Transport, runs: number): Promise<Measurement[]> {
  const clock = realClock();
  const busOf = (service: ServiceName) =>
    typedBus({
      transport,
      clock,
      cluster: "bench",
      service,
      member: "bench",
      log: silentLog,
      metrics: createMetrics(),
      mailboxMessagesMax: 1e6,
    });
  const [publisher, reader] = [busOf("observer"), busOf("node")];
  const micros: number[] = [];
  for (let run = 0; run <= runs; run++) {
    const before = process.cpuUsage();
    await new Promise<void>((resolve) => {
      let left = MESSAGES;
      const stop = reader.subscribe("observed.lease", 7, () => {
        left -= 1;
        if (left > 0) return;
        stop();
        resolve();
      });
      const send = (sent: number): void => {
        for (let index = 0; index < 50; index++) publisher.publish("observed.lease", batch(clock.wallMs()), null);
        if (sent + 50 < MESSAGES) setImmediate(send, sent + 50);
      };
      setImmediate(send, 0);
    });
    const { user, system } = process.cpuUsage(before);
    // The first run warms up.
    if (run > 0) micros.push((user + system) / MESSAGES);
  }
  return [
    measurement(`${name}: CPU per batch`, "µs", micros),
    measurement(
      `${name}: CPU per heartbeat`,
      "µs",
      micros.map((each) => each / HEARTBEATS),
    ),
  ];
}

function batch(nowMs: number) {
  const heartbeats = Array.from({ length: HEARTBEATS }, (_, index) => ({
    node: `node-${index}`,
    kind: "lease" as const,
    renewedAt: nowMs - index,
    seenAt: nowMs - 3,
  }));
  return { shard: 7, heartbeats };
}
