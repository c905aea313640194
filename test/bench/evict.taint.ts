/** Measures a foreign NoExecute taint on many nodes at once, end to end until the last of their pods is deleted. */
import { Urgency } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { until } from "../support/until.ts";
import { openWorld, type World } from "./bench-world.ts";
import { startVigil } from "./controllers.ts";
import type { ClusterSize } from "./load.ts";
import { type Measurement, measurement, quantiles } from "./measurements.ts";
import type { ApiKind } from "./options.ts";
import { pause } from "./pause.ts";
import { changesOf } from "./raw-api.ts";

const TAINT = { key: "bench.example/maintenance", effect: "NoExecute" };
const WARM_UP_MS = 5_000;
const WITHIN_MS = 120_000;

/** From the moment a node's taint appears to the deletion of each of its pods, and the total time. */
export async function taintMeasurements(api: ApiKind, size: ClusterSize): Promise<Measurement[]> {
  const world = await openWorld(api, size);
  try {
    const vigil = await startVigil(world);
    try {
      await pause(WARM_UP_MS);
      return await taintAll(world);
    } finally {
      await vigil.stop();
    }
  } finally {
    await world.close();
  }
}

async function taintAll(world: World): Promise<Measurement[]> {
  const { nodes, podsPerNode } = world.size;
  const taintedAt = new Map<string, number>();
  const deletedAt = new Map<string, { readonly node: string; readonly atMs: number }>();
  const stops = [
    await changesOf(world.wire, "/api/v1/nodes", ({ metadata: { name }, spec }, atMs) => {
      const isTainted = spec.taints?.some(({ key }) => key === TAINT.key) ?? false;
      if (isTainted && !taintedAt.has(name)) taintedAt.set(name, atMs);
    }),
    await changesOf(world.wire, "/api/v1/pods", ({ metadata: { uid, deletionTimestamp }, spec }, atMs) => {
      const isDeleted = deletionTimestamp !== undefined && !deletedAt.has(uid);
      if (isDeleted) deletedAt.set(uid, { node: spec.nodeName ?? "", atMs });
    }),
  ];
  const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
  const kube = createKube({ ...io, wire: world.wire, profile: STANDARD_PROFILE });
  const startedMs = Date.now();
  for (let index = 0; index < nodes; index++) {
    const ref = { kind: "Node", namespace: "", name: `n-${index}` } as const;
    const body = { spec: { taints: [TAINT] } };
    kube.write({ ref, urgency: Urgency.healing, verb: "patch", patch: "strategic", body }, () => {});
  }
  await until("every pod is deleted", () => deletedAt.size >= nodes * podsPerNode, {
    withinMs: WITHIN_MS,
    everyMs: 50,
  });
  for (const stop of stops) stop();
  const lateMs = [...deletedAt.values()].map(({ node, atMs }) => atMs - (taintedAt.get(node) ?? Number.NaN));
  const lastMs = Math.max(...[...deletedAt.values()].map(({ atMs }) => atMs));
  const where = `${nodes} nodes tainted at once, ${world.server}`;
  return [
    ...quantiles(`${where}: taint to pods deleted`, "ms", [lateMs]),
    measurement(`${where}: first taint to last delete`, "ms", [lastMs - startedMs]),
  ];
}
