/**
 * Measures what node policies cost at rest: a Vigil with them and two without, in the same cluster and windows. The two
 * differ by chance alone, so they show how much a ratio may be off.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorld, type World } from "./bench-world.ts";
import { type Controller, startVigil } from "./controllers.ts";
import { type BenchReport, type Measurement, measurement } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import type { WindowUsage } from "./process-usage.ts";
import { windowsOf } from "./steady.ts";

const NODES = 5_000;
const PODS_PER_NODE = 10;
const POOLS = 20;
const WINDOW_MS = 30_000;
/** Several cycles of the garbage collector: it collects everything about once in two minutes. */
const RUNS = 12;
/** What runs once in five seconds is compiled within minutes, and until then it costs twice. */
const WARM_UP_MS = 150_000;

/** Every field, with values that change nothing while all nodes are well. */
const FIELDS = {
  nodeMonitorGracePeriod: "50s",
  nodeStartupGracePeriod: "60s",
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  unhealthyZoneThreshold: 0.55,
  maxUnhealthy: "20%",
  circuitBreaker: { percentage: 10, duration: "10m", resetAfter: "30m" },
  stormCooldownDuration: "10m",
  healthyDelay: "2m",
  flapping: { transitions: 4, window: "30m", holdDown: "1h" },
  evictions: { method: "EvictThenDelete", deleteAfter: "10m" },
  budgets: [{ nodes: "10%" }, { nodes: 0, schedule: "0 9 * * 1-5", duration: "8h" }],
};

/** For each size: CPU and memory with a policy for each of twenty pools, against none. */
export async function policies(options: BenchOptions): Promise<BenchReport> {
  const { podsPerNode = PODS_PER_NODE, windowMs = WINDOW_MS, runs = RUNS, api = "embedded" } = options;
  const measurements: Measurement[] = [];
  for (const nodes of options.nodes ?? [NODES]) {
    const world = await openWorld(api, { nodes, podsPerNode, pools: POOLS });
    try {
      measurements.push(...(await comparedIn(world, windowMs, runs)));
    } finally {
      await world.close();
    }
  }
  const load = `${POOLS} policies with every field against none, at once, ${podsPerNode} pods a node`;
  const warmUp = `${WARM_UP_MS / 1000} s, then ${runs} windows of ${windowMs / 1000} s`;
  return { bench: "policies", load, warmUp, measurements };
}

async function comparedIn(world: World, windowMs: number, runs: number): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), "vigil-bench-policies-"));
  const config = join(folder, "vigil.yaml");
  const running: Controller[] = [];
  try {
    writeFileSync(config, JSON.stringify({ policies: policiesOf(POOLS) }));
    const start = async (flags: Readonly<Record<string, string>> = {}): Promise<number> => {
      const vigil = await startVigil(world, flags);
      running.push(vigil);
      return vigil.pid;
    };
    const pids = { without: await start(), under: await start({ config }), again: await start() };
    await pause(WARM_UP_MS);
    const windows = await windowsOf(pids, windowMs, runs);
    return figuresOf(`${world.size.nodes} nodes, ${world.server}`, windows);
  } finally {
    await Promise.all(running.map((vigil) => vigil.stop()));
    rmSync(folder, { recursive: true });
  }
}

function policiesOf(count: number): object[] {
  return Array.from({ length: count }, (_, index) => {
    return { name: `pool-${index}`, spec: { selector: { matchLabels: { pool: `pool-${index}` } }, ...FIELDS } };
  });
}

type Windows = readonly Record<"without" | "again" | "under", WindowUsage>[];

/** The ratios are those of the sums over all windows: one in which the collector runs says little by itself. */
function figuresOf(where: string, windows: Windows): Measurement[] {
  const of = (what: string, unit: string, value: (usage: WindowUsage) => number): Measurement[] => {
    const without = windows.map((window) => value(window.without));
    const again = windows.map((window) => value(window.again));
    const under = windows.map((window) => value(window.under));
    const both = [...without, ...again];
    return [
      measurement(`${where}: ${what} without`, unit, both),
      measurement(`${where}: ${what} with policies`, unit, under),
      measurement(`${where}: ${what}, ratio`, "×", [mean(under) / mean(both)]),
      measurement(`${where}: ${what}, ratio of the two without`, "×", [mean(again) / mean(without)]),
    ];
  };
  return [...of("CPU", "cores", ({ cores }) => cores), ...of("memory", "MiB", ({ rssMebibytes }) => rssMebibytes)];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
