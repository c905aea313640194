/** Measures evictions: deadlines by number, and a taint that empties many nodes at once. */
import { deadlineMeasurements } from "./evict.deadlines.ts";
import { taintMeasurements } from "./evict.taint.ts";
import type { BenchReport, Measurement } from "./measurements.ts";
import type { ApiKind, BenchOptions } from "./options.ts";

const COUNTS = [1_000, 100_000, 1_000_000];
const RUNS = 3;
/** How many nodes get the taint. */
const TAINTED_NODES = 500;
const PODS_PER_NODE = 10;

/** For each number of deadlines their memory, cost and lateness; then the taint, on each API server. */
export async function evict(options: BenchOptions): Promise<BenchReport> {
  const { runs = RUNS, api, podsPerNode = PODS_PER_NODE, nodes: [nodes = TAINTED_NODES] = [] } = options;
  const measurements: Measurement[] = [];
  for (const count of COUNTS) measurements.push(...(await deadlineMeasurements(count, runs)));
  const kinds: readonly ApiKind[] = api === undefined ? ["embedded", "real"] : [api];
  for (const kind of kinds) measurements.push(...(await taintMeasurements(kind, { nodes, podsPerNode })));
  return {
    bench: "evict",
    load: `${COUNTS.join(", ")} deadlines; a foreign taint on nodes with ${podsPerNode} pods each`,
    warmUp: "one run",
    measurements,
  };
}
