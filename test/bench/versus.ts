/**
 * Measures Vigil against upstream's kube-controller-manager: the same cluster on the same real API server, one after
 * the other, first steady and then with nodes falling silent at once.
 */

import { openWorld, type World } from "./bench-world.ts";
import { type Controller, type StartController, startUpstream, startVigil } from "./controllers.ts";
import { type ClusterSize, firstNodes } from "./load.ts";
import { type BenchReport, type Measurement, measurement, quantile, quantiles } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import type { WindowUsage } from "./process-usage.ts";
import { fallSilent, type SilenceFound } from "./silence.ts";
import { WARM_UP_MS, windowsOf } from "./steady.ts";

interface Size extends ClusterSize {
  readonly silent: number;
}

const SIZES: readonly Size[] = [
  { nodes: 3_000, podsPerNode: 4, silent: 200 },
  { nodes: 5_000, podsPerNode: 10, silent: 500 },
];
/** Upstream's default before 1.32. */
const GRACE_MS = 40_000;
const WINDOW_MS = 20_000;
const RUNS = 3;
/** Upstream needs more than a minute to find the silent nodes and to heal them. */
const SILENCES_MAX = 2;

/** Usage and lateness of one controller, over the runs. */
interface Measured {
  readonly name: string;
  readonly windows: readonly WindowUsage[];
  readonly silences: readonly SilenceFound[];
}

/** For each size: the measurements of both controllers, and Vigil's over upstream's. */
export async function versus(options: BenchOptions): Promise<BenchReport> {
  const measurements: Measurement[] = [];
  for (const size of sizesOf(options)) {
    const world = await openWorld("real", size);
    try {
      const vigil = await measure(world, startVigil, size, options);
      const upstream = await measure(world, startUpstream, size, options);
      measurements.push(...compare(size, vigil, upstream));
    } finally {
      await world.close();
    }
  }
  const { windowMs = WINDOW_MS, runs = RUNS, graceMs = GRACE_MS } = options;
  const silences = Math.min(runs, SILENCES_MAX);
  return {
    bench: "versus",
    load: `real API server, leases renewed each 10 s, grace ${graceMs / 1000} s`,
    warmUp: `${WARM_UP_MS / 1000} s, then ${runs} windows of ${windowMs / 1000} s and ${silences} silences`,
    measurements,
  };
}

function sizesOf({ nodes, podsPerNode }: BenchOptions): readonly Size[] {
  if (nodes === undefined) return SIZES;
  return nodes.map((count) => {
    const known = SIZES.find((size) => size.nodes === count) ?? { podsPerNode: 10, silent: Math.ceil(count / 10) };
    return { ...known, nodes: count, ...(podsPerNode !== undefined && { podsPerNode }) };
  });
}

async function measure(world: World, start: StartController, size: Size, options: BenchOptions): Promise<Measured> {
  const { windowMs = WINDOW_MS, runs = RUNS, graceMs = GRACE_MS } = options;
  const controller: Controller = await start(world, { "node-monitor-grace-period": `${graceMs / 1000}s` });
  try {
    await pause(WARM_UP_MS);
    const windows = await windowsOf({ it: controller.pid }, windowMs, runs);
    const silences: SilenceFound[] = [];
    const silence = { selector: firstNodes(size.silent), graceMs };
    for (let run = 0; run < Math.min(runs, SILENCES_MAX); run++) silences.push(await fallSilent(world, silence));
    return { name: controller.name, windows: windows.map(({ it }) => it), silences };
  } finally {
    await controller.stop();
  }
}

function compare({ nodes, podsPerNode, silent }: Size, vigil: Measured, upstream: Measured): Measurement[] {
  const where = `${nodes} nodes, ${nodes * podsPerNode} pods`;
  const rows = [vigil, upstream].map(({ name, windows, silences }) => [
    measurement(
      `${where}: CPU of ${name}`,
      "cores",
      windows.map(({ cores }) => cores),
    ),
    measurement(
      `${where}: memory of ${name}`,
      "MiB",
      windows.map(({ rssMebibytes }) => rssMebibytes),
    ),
    ...latenessOf(`${silent} of ${where} silent: ${name}`, silences),
  ]);
  const [ours = [], theirs = []] = rows;
  return ours.flatMap((own, index) => {
    const other = theirs[index];
    if (other === undefined) return [own];
    const ratio = measurement(`${own.name}, over upstream's`, "×", [own.median / other.median]);
    return [own, other, ratio];
  });
}

function latenessOf(name: string, silences: readonly SilenceFound[]): Measurement[] {
  const seconds = (pick: (found: SilenceFound) => readonly number[]) =>
    silences.map((found) => pick(found).map((ms) => ms / 1000));
  const p99 = (what: string, pick: (found: SilenceFound) => readonly number[]) =>
    measurement(
      `${name}, ${what}, p99`,
      "s",
      seconds(pick).map((values) => quantile(values, 0.99)),
    );
  const verdicts = seconds((found) => found.verdicts);
  return [
    ...quantiles(`${name}, verdict late`, "s", verdicts),
    p99("Unknown to pod NotReady", ({ pods }) => pods),
    p99("pod NotReady past the grace", ({ podsPastGrace }) => podsPastGrace),
  ];
}
