/**
 * How many requests an evicted pod and a silent node cost on a busy server, as the metric counts them that a benchmark
 * reads. The server carries out one request after the other, a write in 12 ms and a read in 4 ms, so requests wait.
 */
import { describe, expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";
import { metricValue } from "../support/metric-value.ts";

const S = 1000;
const PODS_PER_NODE = 4;
const TOLERATED_S = 40;
const WRITE_MS = 12;
const READ_MS = 4;
const ZONE = { "topology.kubernetes.io/zone": "a" };
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
/** Half of the nodes, so that the zone stays normal. */
const AFFECTED = Array.from({ length: 100 }, (_, index) => `a-${2 * index}`);
const PODS = AFFECTED.length * PODS_PER_NODE;

/**
 * A synced cluster. The affected nodes renew their leases within the same five of ten seconds, and other nodes change
 * ten times a second, as the statuses of 3,000 nodes do.
 */
function clusterOfPods(): EvictionWorld {
  const world = new EvictionWorld();
  const tolerations: Toleration[] = [{ ...MAINTENANCE, operator: "Exists", tolerationSeconds: TOLERATED_S }];
  for (let index = 0; index < 2 * AFFECTED.length; index++) {
    const name = `a-${index}`;
    world.register(name, ZONE, { statusPeriodMs: null });
    for (let pod = 0; pod < PODS_PER_NODE; pod++) world.addTolerantPod(name, `${name}-${pod}`, tolerations);
    world.advance(25);
  }
  for (let index = 0; index < 10; index++) {
    world.register(`changing-${index}`, ZONE, { statusPeriodMs: 1 * S, leasePeriodMs: 1 * S });
    world.advance(100);
  }
  world.run();
  world.advance(30 * S);
  return world;
}

/** Makes the server busy with what Vigil reads and writes. */
function occupy(world: EvictionWorld): void {
  const isWrite = ({ verb, resource, name }: Call) =>
    ["patch", "delete"].includes(verb) && ["nodes", "pods"].includes(resource.plural) && name.startsWith("a-");
  const isRead = ({ verb, name, query }: Call) => (verb === "get" && name !== "") || query.get("limit") === "1";
  const workMs = (call: Call) => (isWrite(call) ? WRITE_MS : READ_MS);
  world.api.faults.add({ fault: { kind: "queue", workMs }, when: (call) => isWrite(call) || isRead(call) });
}

/** How many requests were sent: all, reads of nodes, and patches of nodes. */
async function sentBy({ metrics }: EvictionWorld): Promise<{ all: number; nodeReads: number; nodePatches: number }> {
  const sent = (labels = {}) => metricValue(metrics, "vigil_kube_requests_total", labels);
  return {
    all: await sent(),
    nodeReads: await sent({ verb: "get", kind: "Node" }),
    nodePatches: await sent({ verb: "patch", kind: "Node" }),
  };
}

/** Sets the taints of the affected nodes as `kubectl taint` does, a hundred a second. */
function taint(world: EvictionWorld, taints: Parameters<EvictionWorld["taint"]>[1]): void {
  for (const name of AFFECTED) {
    world.taint(name, taints);
    world.advance(10);
  }
}

describe("an evicted pod", () => {
  /** The requests for each pod that is evicted, until nothing is left of the taint. */
  async function requestsPerPod() {
    const world = clusterOfPods();
    const before = await sentBy(world);
    taint(world, [MAINTENANCE]);
    world.advance((TOLERATED_S - 2) * S);
    occupy(world);
    world.advance(25 * S);
    world.api.faults.clear();
    taint(world, []);
    world.advance(5 * S);
    const after = await sentBy(world);
    expect(world.deleted).toHaveLength(PODS);
    for (const name of AFFECTED) expect(world.records(name)).toEqual({});
    return {
      all: (after.all - before.all) / PODS,
      nodeReads: (after.nodeReads - before.nodeReads) / PODS,
      nodePatches: (after.nodePatches - before.nodePatches) / PODS,
    };
  }

  test("costs its mark, its deletion and half a patch of its node", async () => {
    const { all, nodeReads, nodePatches } = await requestsPerPod();
    expect(all).toBeLessThanOrEqual(2.7);
    expect(nodeReads).toBeLessThanOrEqual(0.1);
    expect(nodePatches).toBe(2 / PODS_PER_NODE);
  });
});

test("a silent node costs two patches, its pods' marks and half a read", async () => {
  const world = clusterOfPods();
  occupy(world);
  const before = await sentBy(world);
  world.silence(AFFECTED);
  world.advance(70 * S);
  const after = await sentBy(world);
  const unready = world.published("done.write").filter(({ body }) => body.ask === "asked.unready");
  expect(unready.filter(({ body }) => body.outcome === "ok")).toHaveLength(PODS);
  expect((after.all - before.all) / AFFECTED.length).toBeLessThanOrEqual(6.7);
});
