/**
 * Measures how the work of judging is shared. It compares the CPU time of one process that runs the node service for
 * all nodes with that of each of two and of four, and finds what a process costs regardless of its share. The API with
 * its kubelets, NATS and every other service run in processes of their own.
 */
import { SERVICE_NAMES, type ServiceName } from "../../protocols/ports.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { LEASE_SECONDS, openWorld } from "./bench-world.ts";
import { type BenchReport, type Measurement, mean, measurement } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { usageOver, type WindowUsage } from "./process-usage.ts";

const NODES = 20_000;
const SIZES = [1, 2, 4];
const OTHERS = SERVICE_NAMES.filter((name) => name !== "node");
/**
 * From the start of the processes to their window. V8 trims the heap after 20 s and drops compiled code with it. One of
 * four processes receives a quarter of the heartbeats, so its code needs four times as long to be compiled again.
 */
const SETTLE_MS = 240_000;
const WINDOW_MS = 60_000;
/** More than the processes of all fleets together. */
const PROCESSES_MAX = 32;
/** A kubelet renews its lease after a quarter of its duration. */
const HEARTBEATS_PER_NODE_SECOND = 4 / LEASE_SECONDS;

/** One process, two and four judge the same nodes side by side, so the machine is the same for all. */
export async function fleet({ nodes = [NODES], windowMs = WINDOW_MS }: BenchOptions): Promise<BenchReport> {
  const measurements: Measurement[] = [];
  for (const count of nodes) measurements.push(...(await fleetsOf(count, windowMs)));
  return {
    bench: "fleet",
    load: `${nodes.join(", ")} nodes on the embedded API, judged by ${SIZES.join(", ")} processes over nats-server`,
    warmUp: `${SETTLE_MS / 1000} s, then a window of ${windowMs / 1000} s for all at once`,
    measurements,
  };
}

async function fleetsOf(nodes: number, windowMs: number): Promise<Measurement[]> {
  const nats = await startNatsServer();
  const world = await openWorld("embedded", { nodes, podsPerNode: 0 });
  const running = new Set<VigilProcess>();
  // Each process ends with this one.
  process.setMaxListeners(PROCESSES_MAX);
  const run = async (cluster: string, member: string, services: readonly ServiceName[]): Promise<VigilProcess> => {
    const names = [`--nats=${nats.url}`, `--cluster=${cluster}`, `--member=${member}`, `--services=${services.join()}`];
    const started = new VigilProcess(["run", `--kubeconfig=${world.kubeconfig}`, ...names, "--log-format=json"]);
    running.add(started);
    await started.untilLogged("running");
    return started;
  };
  /** A fleet of its own on the same bus: fleets do not receive each other's messages. */
  const runFleet = async (size: number): Promise<Record<string, number>> => {
    const cluster = `fleet-${size}`;
    await run(cluster, "others", OTHERS);
    const names = Array.from({ length: size }, (_, index) => `${cluster}-${index}`);
    const members = await Promise.all(names.map(async (name) => [name, (await run(cluster, name, ["node"])).pid]));
    return Object.fromEntries(members);
  };
  try {
    const pids: Record<string, number> = {};
    for (const size of SIZES) Object.assign(pids, await runFleet(size));
    await pause(SETTLE_MS);
    const usage = Object.entries(await usageOver(pids, windowMs));
    const usages = SIZES.map((size) =>
      usage.filter(([name]) => name.startsWith(`fleet-${size}-`)).map(([, window]) => window),
    );
    return [
      ...usages.flatMap((each, index) => measurementsOf(nodes, each, usages[0]?.[0]?.cores ?? Number.NaN, index)),
      ...sharingOf(nodes, usages),
    ];
  } finally {
    for (const started of running) started.signal("SIGKILL");
    await world.close();
    await nats.stop();
  }
}

/**
 * What a process costs regardless of its share, and what each heartbeat adds: a least-squares line through the means of
 * each size over the share of the nodes that one process owns.
 */
function sharingOf(nodes: number, usages: readonly WindowUsage[][]): Measurement[] {
  const points = usages.map((usage, index) => ({
    share: 1 / (SIZES[index] ?? Number.NaN),
    cores: mean(usage.map((each) => each.cores)),
  }));
  const meanShare = mean(points.map(({ share }) => share));
  const meanCores = mean(points.map(({ cores }) => cores));
  const covariance = mean(points.map(({ share, cores }) => (share - meanShare) * (cores - meanCores)));
  const slope = covariance / mean(points.map(({ share }) => (share - meanShare) ** 2));
  const where = `${nodes} nodes, by a line through all sizes`;
  return [
    measurement(`${where}: CPU of a process without nodes`, "cores", [meanCores - slope * meanShare]),
    measurement(`${where}: CPU that a heartbeat adds`, "µs", [(slope * 1e6) / (nodes * HEARTBEATS_PER_NODE_SECOND)]),
  ];
}

function measurementsOf(
  nodes: number,
  usage: readonly WindowUsage[],
  aloneCores: number,
  index: number,
): Measurement[] {
  const size = SIZES[index] ?? Number.NaN;
  const where = size === 1 ? `${nodes} nodes, one process` : `${nodes} nodes, each of ${size}`;
  const cores = usage.map((each) => each.cores);
  const perHeartbeat = cores.map((each) => (each * size * 1e6) / (nodes * HEARTBEATS_PER_NODE_SECOND));
  const rss = usage.map((each) => each.peakMebibytes);
  return [
    measurement(`${where}: CPU`, "cores", cores),
    ...(size === 1
      ? []
      : [
          measurement(
            `${where}: share of what one takes`,
            "of 1",
            cores.map((each) => each / aloneCores),
          ),
        ]),
    measurement(`${where}: CPU per heartbeat`, "µs", perHeartbeat),
    measurement(`${where}: memory at most`, "MiB", rss),
  ];
}
