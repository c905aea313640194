/** Measures the cost of a steady cluster: CPU and memory of Vigil while leases are renewed. */

import { openWorld, type World } from "./bench-world.ts";
import { startVigil } from "./controllers.ts";
import { type BenchReport, type Measurement, measurement } from "./measurements.ts";
import type { ApiKind, BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { type ProcessUsage, usageOf, usageOver, type WindowUsage } from "./process-usage.ts";

const SIZES: Readonly<Record<ApiKind, readonly number[]>> = {
  embedded: [1_000, 5_000, 20_000, 100_000],
  real: [1_000, 5_000],
};
const PODS_PER_NODE = 10;
const WINDOW_MS = 30_000;
const RUNS = 3;
/** From ready to the first window. By then the garbage of the start has been collected. */
export const WARM_UP_MS = 30_000;

/** For each size: cores and memory over windows with nothing but heartbeats. */
export async function steady(options: BenchOptions): Promise<BenchReport> {
  const { podsPerNode = PODS_PER_NODE, windowMs = WINDOW_MS, runs = RUNS } = options;
  const kinds: readonly ApiKind[] = options.api === undefined ? ["embedded", "real"] : [options.api];
  const measurements: Measurement[] = [];
  for (const api of kinds) {
    for (const nodes of options.nodes ?? SIZES[api]) {
      const world = await openWorld(api, { nodes, podsPerNode });
      try {
        measurements.push(...(await steadyIn(world, windowMs, runs)));
      } finally {
        await world.close();
      }
    }
  }
  const load = `${podsPerNode} pods a node, leases renewed each 10 s`;
  const warmUp = `${WARM_UP_MS / 1000} s, then ${runs} windows of ${windowMs / 1000} s`;
  return { bench: "steady", load, warmUp, measurements };
}

async function steadyIn(world: World, windowMs: number, runs: number): Promise<Measurement[]> {
  const vigil = await startVigil(world);
  try {
    const start = usageOf(vigil.pid);
    await pause(WARM_UP_MS);
    const windows = await windowsOf({ ...world.pids, Vigil: vigil.pid }, windowMs, runs);
    return measurementsOf(`${world.size.nodes} nodes, ${world.server}`, start, windows);
  } finally {
    await vigil.stop();
  }
}

/** The usage of named processes over several windows, one after the other. */
export async function windowsOf<N extends string>(
  pids: Readonly<Record<N, number>>,
  windowMs: number,
  runs: number,
): Promise<Record<N, WindowUsage>[]> {
  const windows: Record<N, WindowUsage>[] = [];
  for (let run = 0; run < runs; run++) windows.push(await usageOver(pids, windowMs));
  return windows;
}

function measurementsOf(
  where: string,
  start: ProcessUsage,
  windows: readonly Record<string, WindowUsage>[],
): Measurement[] {
  const [first = {}] = windows;
  const of = (name: string, field: keyof WindowUsage) => windows.map((window) => window[name]?.[field] ?? Number.NaN);
  const others = Object.keys(first).filter((name) => name !== "Vigil");
  return [
    measurement(`${where}: CPU`, "cores", of("Vigil", "cores")),
    measurement(`${where}: memory`, "MiB", of("Vigil", "rssMebibytes")),
    measurement(`${where}: memory at most in a window`, "MiB", of("Vigil", "peakMebibytes")),
    measurement(`${where}: memory at most while starting`, "MiB", [start.peakMebibytes]),
    ...others.map((name) => measurement(`${where}: CPU of ${name}`, "cores", of(name, "cores"))),
  ];
}
