/** Measures the cost of a heartbeat on its way from observer to node service, in one process and over NATS. */
import { fork } from "node:child_process";
import { once } from "node:events";
import type { Transport } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { nodeService } from "../../services/node/node.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { until } from "../support/until.ts";
import { bareIo, Heartbeats, watchesInto } from "./heartbeats.ts";
import { type Measurement, measurement } from "./measurements.ts";
import { pause } from "./pause.ts";
import { usageOver } from "./process-usage.ts";

/** How much is measured. */
export interface HeartbeatSettings {
  readonly nodes: number;
  readonly windowMs: number;
  readonly runs: number;
}

/** Each node renews its lease once in this time. */
const PERIOD_MS = 10_000;
const STEP_MS = 100;
const STEPS = PERIOD_MS / STEP_MS;
/** Longer than a reader needs to request all that it lacks. */
const SETTLE_MS = 10_000;
const JUDGED_MS = 60_000;

/** Observer and node service in this process on the memory bus, every node at once. */
export async function heartbeatsOnMemory({ nodes, runs }: HeartbeatSettings): Promise<Measurement[]> {
  const clock = realClock();
  const transport = memoryTransport(clock);
  const services = { observer: observerService, node: nodeService };
  const heartbeats = await listed({ clock, transport, services, nodes });
  const micros: number[] = [];
  for (let run = 0; run <= runs; run++) {
    const before = process.cpuUsage();
    for (let step = 0; step < STEPS; step++) renewStep(heartbeats, step);
    // The heartbeats are sent together: nothing has been published before.
    await pause(2 * STANDARD_PROFILE.leaseBatchMs);
    const { user, system } = process.cpuUsage(before);
    // The first run warms up.
    if (run > 0) micros.push((user + system) / nodes);
  }
  heartbeats.stop();
  return [
    measurement("observer and node on memory: CPU per heartbeat", "µs", micros),
    measurement(
      "observer and node on memory: heartbeats per core",
      "heartbeats/s",
      micros.map((each) => 1e6 / each),
    ),
  ];
}

/** The node service in a process of its own, reached over NATS, at the rate of kubelets. */
export async function heartbeatsOverNats(
  server: string,
  transport: Transport,
  { nodes, windowMs, runs }: HeartbeatSettings,
): Promise<Measurement[]> {
  const child = fork(new URL(import.meta.resolve("./node-process.ts")), [server]);
  await once(child, "message");
  const clock = realClock();
  const heartbeats = await listed({ clock, transport, services: { observer: observerService }, nodes });
  let step = 0;
  const beating = setInterval(() => renewStep(heartbeats, step++), STEP_MS);
  const nodeMicros: number[] = [];
  const observerMicros: number[] = [];
  for (let run = 0; run < runs; run++) {
    const before = step;
    const { node, observer } = await usageOver({ node: child.pid ?? 0, observer: process.pid }, windowMs);
    const seconds = (step - before) * (STEP_MS / 1000);
    const beats = ((step - before) * nodes) / STEPS;
    nodeMicros.push((node.cores * seconds * 1e6) / beats);
    observerMicros.push((observer.cores * seconds * 1e6) / beats);
  }
  clearInterval(beating);
  heartbeats.stop();
  child.disconnect();
  return [
    measurement(`${nodes / 10} heartbeats/s over NATS: CPU of the node process per heartbeat`, "µs", nodeMicros),
    measurement(
      `${nodes / 10} heartbeats/s over NATS: CPU of the observing process per heartbeat`,
      "µs",
      observerMicros,
    ),
  ];
}

/** A world in which every node has been judged. */
async function listed(options: ConstructorParameters<typeof Heartbeats>[0]): Promise<Heartbeats> {
  const { clock, transport, nodes } = options;
  const judged = new Set<string>();
  const { bus } = bareIo("ledger", { clock, transport, kube: watchesInto({}) });
  const stop = bus.subscribe("judged.node", "all", ({ body }) => judged.add(body.node));
  const heartbeats = new Heartbeats(options);
  heartbeats.list();
  await until("every node is judged", () => judged.size === nodes, { withinMs: JUDGED_MS, everyMs: 50 });
  stop();
  await pause(SETTLE_MS);
  return heartbeats;
}

/** One of the steps in which every node renews its lease once. */
function renewStep(heartbeats: Heartbeats, step: number): void {
  const batch = heartbeats.nodes / STEPS;
  const from = (step % STEPS) * batch;
  heartbeats.renew(from, from + batch);
}
