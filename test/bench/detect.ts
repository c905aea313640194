/** Measures how late Vigil finds silence: of a tenth of the nodes, of a complete zone, of half of all nodes. */
import type { HollowSelector } from "../../services/sandbox/hollow/node-selection.ts";
import { openWorld, type World } from "./bench-world.ts";
import { startVigil } from "./controllers.ts";
import { firstNodes } from "./load.ts";
import { type BenchReport, type Measurement, measurement, quantiles } from "./measurements.ts";
import type { ApiKind, BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import { usageOf } from "./process-usage.ts";
import { fallSilent, type SilenceFound } from "./silence.ts";

const SIZES: Readonly<Record<ApiKind, readonly number[]>> = {
  real: [1_000],
  embedded: [5_000, 20_000, 100_000],
};
const PODS_PER_NODE = 10;
/** Longer than the interval between two renewals, so only silent nodes are found. */
const GRACE_MS = 15_000;
const RUNS = 2;
/** Time beyond the grace before the first silence: a controller that has just started counts silence from its start. */
const SETTLE_MS = 5_000;
/**
 * From the healing of the last node to the next silence. It is as long as a renewal period, so renewals are spread
 * again and the work that follows healing is finished.
 */
const REST_MS = 10_000;
/** The embedded API serves for size: only this many nodes fall silent, and neither a zone nor half of everything. */
const SILENT_NODES_MAX = 1_000;

interface Case {
  readonly name: string;
  readonly selector: HollowSelector;
}

/** For each size: lateness of verdicts past their grace, and from a verdict to the NoSchedule taint and to each pod. */
export async function detect(options: BenchOptions): Promise<BenchReport> {
  const { podsPerNode = PODS_PER_NODE, runs = RUNS, graceMs = GRACE_MS } = options;
  const kinds: readonly ApiKind[] = options.api === undefined ? ["real", "embedded"] : [options.api];
  const measurements: Measurement[] = [];
  for (const api of kinds) {
    for (const nodes of options.nodes ?? SIZES[api]) {
      const world = await openWorld(api, { nodes, podsPerNode });
      try {
        measurements.push(...(await detectIn(world, casesOf(api, nodes), runs, graceMs)));
      } finally {
        await world.close();
      }
    }
  }
  const load = `nodes with ${podsPerNode} pods each fall silent at once, grace ${graceMs / 1000} s`;
  return {
    bench: "detect",
    load,
    warmUp: `${(graceMs + SETTLE_MS) / 1000} s and one silence, then ${runs} more`,
    measurements,
  };
}

function casesOf(api: ApiKind, nodes: number): Case[] {
  const few = Math.min(nodes / 10, SILENT_NODES_MAX);
  const some = { name: `${few} silent`, selector: firstNodes(few) };
  if (api === "embedded") return [some];
  const half = { name: "half of everything silent", selector: firstNodes(nodes / 2) };
  return [some, { name: "a whole zone silent", selector: { zone: "zone-0" } }, half];
}

async function detectIn(world: World, cases: readonly Case[], runs: number, graceMs: number): Promise<Measurement[]> {
  const vigil = await startVigil(world, { "node-monitor-grace-period": `${graceMs / 1000}s` });
  try {
    await pause(graceMs + SETTLE_MS);
    const measurements: Measurement[] = [];
    await fallSilent(world, { selector: firstNodes(world.size.nodes / 100), graceMs });
    for (const { name, selector } of cases) {
      const found: SilenceFound[] = [];
      for (let run = 0; run < runs; run++) {
        await pause(REST_MS);
        found.push(await fallSilent(world, { selector, graceMs }));
      }
      measurements.push(...measurementsOf(`${world.size.nodes} nodes, ${world.server}, ${name}`, found));
    }
    return [
      ...measurements,
      measurement(`${world.size.nodes} nodes, ${world.server}: memory`, "MiB", [usageOf(vigil.pid).peakMebibytes]),
    ];
  } finally {
    await vigil.stop();
  }
}

/** The lateness of several runs as measurements. */
function measurementsOf(where: string, runs: readonly SilenceFound[]): Measurement[] {
  return [
    ...quantiles(
      `${where}: verdict late`,
      "ms",
      runs.map(({ verdicts }) => verdicts),
    ),
    ...quantiles(
      `${where}: Unknown to NoSchedule`,
      "ms",
      runs.map(({ taints }) => taints),
    ),
    ...quantiles(
      `${where}: Unknown to pods NotReady`,
      "ms",
      runs.map(({ pods }) => pods),
    ),
  ];
}
