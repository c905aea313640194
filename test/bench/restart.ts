/** Measures the cost of a start: the time from process start to the first sync, and the peak memory. */

import { openWorld, type World } from "./bench-world.ts";
import { startVigil } from "./controllers.ts";
import { type BenchReport, type Measurement, measurement } from "./measurements.ts";
import type { ApiKind, BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { usageOf } from "./process-usage.ts";
import { WARM_UP_MS } from "./steady.ts";

const NODES: Readonly<Record<ApiKind, number>> = { embedded: 100_000, real: 5_000 };
const PODS_PER_NODE = 10;
const RUNS = 3;

/** For each API server: starts Vigil several times beside existing nodes and pods. */
export async function restart(options: BenchOptions): Promise<BenchReport> {
  const { podsPerNode = PODS_PER_NODE, runs = RUNS } = options;
  const kinds: readonly ApiKind[] = options.api === undefined ? ["real", "embedded"] : [options.api];
  const measurements: Measurement[] = [];
  for (const api of kinds) {
    for (const nodes of options.nodes ?? [NODES[api]]) {
      const world = await openWorld(api, { nodes, podsPerNode });
      try {
        measurements.push(...(await restartIn(world, runs)));
      } finally {
        await world.close();
      }
    }
  }
  const load = `Vigil started ${runs} times beside a cluster that heartbeats, ${podsPerNode} pods a node`;
  return { bench: "restart", load, measurements };
}

interface Start {
  readonly readyMs: number;
  readonly cpuSeconds: number;
  readonly peakMebibytes: number;
  readonly steadyMebibytes: number;
}

async function restartIn(world: World, runs: number): Promise<Measurement[]> {
  const starts: Start[] = [];
  for (let run = 0; run < runs; run++) starts.push(await startIn(world));
  const where = `${world.size.nodes} nodes, ${world.server}`;
  const of = (name: string, unit: string, value: (start: Start) => number) =>
    measurement(`${where}: ${name}`, unit, starts.map(value));
  return [
    of("time to first sync", "s", ({ readyMs }) => readyMs / 1000),
    of("CPU until then", "s", ({ cpuSeconds }) => cpuSeconds),
    of("peak memory", "MiB", ({ peakMebibytes }) => peakMebibytes),
    of(`memory ${WARM_UP_MS / 1000} s later`, "MiB", ({ steadyMebibytes }) => steadyMebibytes),
    of("peak over steady memory", "×", ({ peakMebibytes, steadyMebibytes }) => peakMebibytes / steadyMebibytes),
  ];
}

async function startIn(world: World): Promise<Start> {
  const vigil = await startVigil(world);
  const { pid, readyMs } = vigil;
  try {
    const { cpuSeconds } = usageOf(pid);
    await pause(WARM_UP_MS);
    const { rssMebibytes, peakMebibytes } = usageOf(pid);
    return { readyMs, cpuSeconds, peakMebibytes, steadyMebibytes: rssMebibytes };
  } finally {
    await vigil.stop();
  }
}
