/**
 * Measures what node policies cost at rest: pairs of a Vigil with and one without them, each pair in a cluster of its
 * own, in the same windows. The heap of a process settles by chance, and with it its cost by several per cent, so one
 * pair says little.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openWorld, type World } from "./bench-world.ts";
import { type Controller, startVigil } from "./controllers.ts";
import { type BenchReport, type Measurement, mean, measurement } from "./measurements.ts";
import type { BenchOptions } from "./options.ts";
import { pause } from "./pause.ts";
import type { WindowUsage } from "./process-usage.ts";
import { windowsOf } from "./steady.ts";

const NODES = 5_000;
const PODS_PER_NODE = 10;
const POOLS = 20;
const PAIRS = 6;
const WINDOW_MS = 30_000;
/** Several cycles of the garbage collector, which collects everything about once in two minutes. */
const RUNS = 12;
/** What runs once in five seconds is compiled within minutes, and until then it costs twice. */
const WARM_UP_MS = 300_000;

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
    const worlds: World[] = [];
    try {
      for (let pair = 0; pair < PAIRS; pair++) {
        worlds.push(await openWorld(api, { nodes, podsPerNode, pools: POOLS }));
      }
      const windows = await comparedIn(worlds, windowMs, runs);
      measurements.push(...measurementsOf(`${nodes} nodes, ${worlds[0]?.server}`, windows));
    } finally {
      await Promise.all(worlds.map((world) => world.close()));
    }
  }
  const load = `${POOLS} policies with every field against none, ${PAIRS} pairs at once, ${podsPerNode} pods a node`;
  const warmUp = `${WARM_UP_MS / 1000} s, then ${runs} windows of ${windowMs / 1000} s`;
  return { bench: "policies", load, warmUp, measurements };
}

/** The usage of each process by its name, in each window. */
type Windows = readonly Readonly<Record<string, WindowUsage>>[];

const WITHOUT = "without";
const UNDER = "under";

async function comparedIn(worlds: readonly World[], windowMs: number, runs: number): Promise<Windows> {
  const folder = mkdtempSync(join(tmpdir(), "vigil-bench-policies-"));
  const config = join(folder, "vigil.yaml");
  const running: Controller[] = [];
  const pids: Record<string, number> = {};
  const start = async (name: string, world: World, flags: Readonly<Record<string, string>>): Promise<void> => {
    const vigil = await startVigil(world, flags);
    running.push(vigil);
    pids[name] = vigil.pid;
  };
  try {
    writeFileSync(config, JSON.stringify({ policies: policiesOf(POOLS) }));
    for (const [pair, world] of worlds.entries()) {
      await start(`${WITHOUT} ${pair}`, world, {});
      await start(`${UNDER} ${pair}`, world, { config });
    }
    await pause(WARM_UP_MS);
    return await windowsOf(pids, windowMs, runs);
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

/** What each process used over all windows, and the ratio of the sums. */
function measurementsOf(where: string, windows: Windows): Measurement[] {
  const of = (what: string, unit: string, value: (usage: WindowUsage) => number): Measurement[] => {
    const each = (kind: string): number[] => {
      const names = Object.keys(windows[0] ?? {}).filter((name) => name.startsWith(kind));
      return names.map((name) => mean(windows.map((window) => value(window[name] as WindowUsage))));
    };
    const [without, under] = [each(WITHOUT), each(UNDER)];
    return [
      measurement(`${where}: ${what} without`, unit, without),
      measurement(`${where}: ${what} with policies`, unit, under),
      measurement(`${where}: ${what}, ratio of the sums`, "×", [mean(under) / mean(without)]),
    ];
  };
  return [...of("CPU", "cores", ({ cores }) => cores), ...of("memory", "MiB", ({ rssMebibytes }) => rssMebibytes)];
}
