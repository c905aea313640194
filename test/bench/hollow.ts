/** Measures the cost of hollow nodes: heartbeats of many nodes from one process against the embedded API over HTTP. */

import { LEASE_SECONDS, openWorld } from "./bench-world.ts";
import { Load } from "./load.ts";
import { type BenchReport, measurement } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { usageOf, usageOver } from "./process-usage.ts";

const NODES = 10_000;
const WINDOW_MS = 60_000;
const SETTLE_MS = 10_000;
const RENEWALS_PER_LEASE = 4;

/** CPU and memory of the process that plays the kubelets. */
export async function hollow(options: BenchOptions): Promise<BenchReport> {
  const { nodes: [nodes = NODES] = [], podsPerNode = 0, windowMs = WINDOW_MS } = options;
  const world = await openWorld("embedded", { nodes: 0, podsPerNode: 0 });
  const { kubeconfig } = world;
  const { load } = await Load.start(import.meta.resolve("./hollow-process.ts"), {
    nodes,
    podsPerNode,
    leaseSeconds: LEASE_SECONDS,
    kubeconfig,
  });
  try {
    const { peakMebibytes } = usageOf(load.pid);
    await pause(SETTLE_MS);
    const { hollow: used } = await usageOver({ hollow: load.pid }, windowMs);
    const renewalsPerSecond = (nodes * RENEWALS_PER_LEASE) / LEASE_SECONDS;
    return {
      bench: "hollow",
      load: `${nodes} hollow nodes in one process against the embedded API over HTTP`,
      measurements: [
        measurement("CPU of the hollow process", "cores", [used.cores]),
        measurement("CPU per heartbeat", "µs", [(used.cores * 1e6) / renewalsPerSecond]),
        measurement("memory at most", "MiB", [Math.max(peakMebibytes, used.peakMebibytes)]),
      ],
    };
  } finally {
    await load.stop();
    await world.close();
  }
}
