/** Simulated fleets that lose replies of the API server: the metrics count what the server carried out. */
import { expect, test } from "vitest";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { metricValue } from "../support/metric-value.ts";
import { simulate } from "./simulate.ts";
import { SIMULATED_SERVICES } from "./simulated-services.ts";
import { drawSwarm, type FaultClass } from "./swarm.ts";

const SEEDS = 12;
/** Nodes die and return, and only Vigil deletes pods. */
const FAULTS: readonly FaultClass[] = ["lostReplies", "flakyApi", "death", "zoneDeath", "flapping", "notReady"];

async function sum(registries: readonly ReadableMetrics[], name: string): Promise<number> {
  const values = await Promise.all(registries.map((metrics) => metricValue(metrics, name)));
  return values.reduce((left, right) => left + right, 0);
}

test("evictions are counted once each, whatever replies are lost", async () => {
  const counted: unknown[] = [];
  const happened: unknown[] = [];
  let lost = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const registries: ReadableMetrics[] = [];
    const created = (): ReadableMetrics => {
      const metrics = createMetrics();
      registries.push(metrics);
      return metrics;
    };
    const drawn = drawSwarm(seed);
    const profile = { ...drawn.profile, evictionMode: "taint" } as const;
    const processes = drawn.processes.map(() => SIMULATED_SERVICES);
    const swarm = { ...drawn, plot: null, processes, profile, faults: new Set(FAULTS) };
    const { problem, sometimes } = simulate(seed, swarm, { createMetrics: created });
    const of = (situation: string): number => sometimes[situation] ?? 0;
    expect(problem).toBeNull();
    counted.push({
      seed,
      nodes: await sum(registries, "node_collector_evictions_total"),
      pods: await sum(registries, "taint_eviction_controller_pod_deletions_total"),
    });
    happened.push({ seed, nodes: of("NoExecute taint put on"), pods: of("pod evicted") });
    lost += of("lost reply on a PATCH") + of("lost reply on a DELETE");
  }
  expect(counted).toEqual(happened);
  expect(lost).toBeGreaterThan(0);
}, 240_000);
