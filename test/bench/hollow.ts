/** Measures the cost of hollow nodes: heartbeats of many nodes from one process. */

import { call } from "../../services/platform/kube/transport/call.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { LEASE_SECONDS, openBare, openWorld, type World } from "./bench-world.ts";
import { Load } from "./load.ts";
import { type BenchReport, measurement } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { usageOf, usageOver } from "./process-usage.ts";

const NODES = 10_000;
const WINDOW_MS = 60_000;
const SETTLE_MS = 12_000;
const READ_MS = 10_000;

/** CPU and memory of the process that plays the kubelets. Without an API server named, one that stores nothing. */
export async function hollow(options: BenchOptions): Promise<BenchReport> {
  const { nodes: [nodes = NODES] = [], podsPerNode = 0, windowMs = WINDOW_MS, api } = options;
  const world = api === undefined ? await openBare() : await openWorld(api, { nodes: 0, podsPerNode: 0 });
  const startedMs = performance.now();
  const { load } = await Load.start(import.meta.resolve("./hollow-process.ts"), {
    nodes,
    podsPerNode,
    leaseSeconds: LEASE_SECONDS,
    kubeconfig: world.kubeconfig,
  });
  try {
    const registeredMs = performance.now() - startedMs;
    const { peakMebibytes, cpuSeconds } = usageOf(load.pid);
    await pause(SETTLE_MS);
    const before = await renewalsAt(world);
    const { hollow: used } = await usageOver({ hollow: load.pid }, windowMs);
    const renewals = ((await renewalsAt(world)) - before) / (windowMs / 1000);
    return {
      bench: "hollow",
      load: `${nodes} hollow nodes in one process against ${world.server}`,
      measurements: [
        measurement("time to register all", "s", [registeredMs / 1000]),
        measurement("CPU until then", "s", [cpuSeconds]),
        measurement("renewals a second", "", [renewals]),
        measurement("CPU of the hollow process", "cores", [used.cores]),
        measurement("CPU per renewal", "µs", [(used.cores * 1e6) / renewals]),
        measurement("memory at most", "MiB", [Math.max(peakMebibytes, used.peakMebibytes)]),
      ],
    };
  } finally {
    await load.stop();
    await world.close();
  }
}

/** How many renewals a server has counted; NaN where it does not count. */
function renewalsAt({ wire }: Pick<World, "wire">): Promise<number> {
  const request = { method: "GET", path: "/renewals", headers: {}, body: null };
  return new Promise((resolve) => {
    call({ wire, clock: realClock() }, request, READ_MS, (answer) => {
      resolve(answer.kind === "answer" && answer.status === 200 ? JSON.parse(answer.text).renewals : Number.NaN);
    });
  });
}
