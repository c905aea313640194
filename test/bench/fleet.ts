/**
 * Measures how the work of judging is shared: the CPU of one process that runs the node service for all nodes, and of
 * each of two and of four. API with its kubelets, NATS and every other service run in processes of their own.
 */
import { SERVICE_NAMES, type ServiceName } from "../../protocols/ports.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { type BenchReport, type Figure, figure } from "./figures.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { usageOver, type WindowUsage } from "./process-usage.ts";
import { LEASE_SECONDS, openWorld } from "./world.ts";

const NODES = 20_000;
const SIZES = [1, 2, 4];
/** From the start of processes until their shards are shared and whole, and what that took has been compiled. */
const SETTLE_MS = 25_000;
const WINDOW_MS = 20_000;
/** A kubelet renews its lease after a quarter of its duration. */
const HEARTBEATS_PER_NODE_SECOND = 4 / LEASE_SECONDS;

/** Runs the same nodes under one process, two and four. */
export async function fleet({ nodes = [NODES], windowMs = WINDOW_MS }: BenchOptions): Promise<BenchReport> {
  const figures: Figure[] = [];
  for (const count of nodes) figures.push(...(await fleetOf(count, windowMs)));
  return {
    bench: "fleet",
    load: `${nodes.join(", ")} nodes on the embedded API, judged by ${SIZES.join(", ")} processes over nats-server`,
    warmUp: `${SETTLE_MS / 1000} s, then a window of ${windowMs / 1000} s`,
    figures,
  };
}

async function fleetOf(nodes: number, windowMs: number): Promise<Figure[]> {
  const nats = await startNatsServer();
  const world = await openWorld("embedded", { nodes, podsPerNode: 0 });
  const running = new Set<VigilProcess>();
  const run = async (member: string, services: readonly ServiceName[]): Promise<VigilProcess> => {
    const names = [`--nats=${nats.url}`, `--member=${member}`, `--services=${services.join()}`];
    const started = new VigilProcess(["run", `--kubeconfig=${world.kubeconfig}`, ...names, "--log-format=json"]);
    running.add(started);
    await started.says("running");
    return started;
  };
  const measured = async (size: number): Promise<WindowUsage[]> => {
    const names = Array.from({ length: size }, (_, index) => `node-${size}-${index}`);
    const members = await Promise.all(names.map((name) => run(name, ["node"])));
    await pause(SETTLE_MS);
    const usage = await usageOver(Object.fromEntries(members.map(({ pid }, index) => [names[index], pid])), windowMs);
    for (const member of members) member.signal("SIGTERM");
    await Promise.all(members.map((member) => member.exited()));
    return Object.values(usage);
  };
  try {
    await run(
      "others",
      SERVICE_NAMES.filter((name) => name !== "node"),
    );
    // Nodes are born with a taint that has to go; whoever comes first asks for it, and is not counted.
    await measured(1);
    const usages: WindowUsage[][] = [];
    for (const size of SIZES) usages.push(await measured(size));
    return usages.flatMap((usage, index) => figuresOf(nodes, usage, usages[0]?.[0]?.cores ?? Number.NaN, index));
  } finally {
    for (const process of running) process.signal("SIGKILL");
    await world.close();
    await nats.stop();
  }
}

function figuresOf(nodes: number, usage: readonly WindowUsage[], aloneCores: number, index: number): Figure[] {
  const size = SIZES[index] ?? Number.NaN;
  const where = size === 1 ? `${nodes} nodes, one process` : `${nodes} nodes, each of ${size}`;
  const cores = usage.map((each) => each.cores);
  const perHeartbeat = cores.map((each) => (each * size * 1e6) / (nodes * HEARTBEATS_PER_NODE_SECOND));
  const rss = usage.map((each) => each.peakMebibytes);
  return [
    figure(`${where}: CPU`, "cores", cores),
    ...(size === 1
      ? []
      : [
          figure(
            `${where}: share of what one takes`,
            "of 1",
            cores.map((each) => each / aloneCores),
          ),
        ]),
    figure(`${where}: CPU per heartbeat`, "µs", perHeartbeat),
    figure(`${where}: memory at most`, "MiB", rss),
  ];
}
