/**
 * Scenarios on virtual time: watches stay open and show nothing, etcd is restored from a backup, and one of several API
 * servers is stale. No reader stays blind, and none keeps objects that no longer exist.
 */
import { describe, expect, test } from "vitest";
import { EvictionWorld } from "../support/eviction-world.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { metricValue } from "../support/metric-value.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { OBSERVER, SPINE } from "./spine.ts";

const S = 1000;
const UNTOLERATED = { key: "m", effect: "NoExecute" };

test.each(["nodes", "pods"] as const)("a silent watch of %s is noticed within ten minutes", (storage) => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.addTolerantPod("a-0", "early");
  world.run();
  world.advance(60 * S);
  world.api.faults.silenceWatches(storage);
  world.advance(10 * S);
  if (storage === "pods") world.addTolerantPod("a-0", "late");
  world.taint("a-0", [UNTOLERATED]);
  world.advance(600 * S);
  const pods = (storage === "pods" ? ["early", "late"] : ["early"]).filter((name) => {
    const pod = world.read({ kind: "Pod", namespace: "default", name });
    return pod !== null && (pod.metadata as { deletionTimestamp?: string }).deletionTimestamp === undefined;
  });
  const pulse = world.received.filter(({ type }) => type === "observed.pulse").at(-1)?.body as {
    watches: Record<string, { synced: boolean }>;
  };
  // Either it has been listed again, and the pods went, or it is at least known to be blind.
  expect(pods.length === 0 || !pulse.watches[storage]?.synced).toBe(true);
});

/**
 * A backup of a minute ago is restored: node `extra` and pod `late` do not exist any more, `a-1` is not cordoned any more,
 * and pod `early`, which had been deleted, is back.
 */
function restored(watches: "cut" | "silent") {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.addTolerantPod("a-0", "early");
  world.taint("a-0", [{ key: "known", effect: "NoSchedule" }]);
  world.run();
  world.advance(30 * S);
  const backup = world.api.snapshot();
  const wasVersion = world.node("a-1").metadata.resourceVersion;
  world.register("extra");
  world.kubelet("extra").stop();
  world.addTolerantPod("a-1", "late");
  world.patch({ kind: "Node", namespace: "", name: "a-1" }, { spec: { unschedulable: true } });
  world.removePod("early");
  world.advance(30 * S);
  const fromMs = world.clock.monotonicMs();
  world.api.restore(backup, { watches });
  return {
    world,
    wasVersion,
    since: <T extends { atMs: number }>(all: T[]) => all.filter(({ atMs }) => atMs > fromMs),
  };
}

/** How long a store that went back is not noticed: broken watches are reopened, silent ones are found by a lease. */
const NOTICED_MS = { cut: 2 * S, silent: 30 * S };

describe.each(["cut", "silent"] as const)("etcd restored, watches %s:", (watches) => {
  test("gone is gone, and older states are taken", () => {
    const { world, wasVersion, since } = restored(watches);
    // The kubelets' posts would show their nodes anyway.
    world.silence(["a-1"]);
    world.advance(NOTICED_MS[watches]);
    expect(since(world.published("observed.gone")).map(({ body }) => body.node)).toEqual(["extra"]);
    const shown = since(world.published("observed.node")).filter(({ body }) => body.node === "a-1");
    expect(shown.at(-1)?.body.resourceVersion).toBe(wasVersion);
    const pulse = world.published("observed.pulse").at(-1)?.body;
    expect(pulse?.watches).toMatchObject({ nodes: { synced: true }, leases: { synced: true }, pods: { synced: true } });
  });

  test("a pod that is back is evicted", () => {
    const { world } = restored(watches);
    world.advance(NOTICED_MS[watches]);
    for (const name of ["a-0", "a-1"]) world.taint(name, [UNTOLERATED]);
    world.advance(5 * S);
    const pod = (name: string) => world.read({ kind: "Pod", namespace: "default", name });
    expect([pod("early")?.metadata.deletionTimestamp, pod("late")]).toEqual([expect.any(String), null]);
  });

  test("only a node that dies is tainted", () => {
    const { world } = restored(watches);
    world.advance(NOTICED_MS[watches]);
    world.silence(["a-2"]);
    world.advance(120 * S);
    expect(world.tainted.map(({ name }) => name)).toEqual(["a-2"]);
  });

  test("each watch says so once", () => {
    const { world } = restored(watches);
    world.advance(NOTICED_MS[watches]);
    const lines = world.logged().filter(({ message }) => message.includes("went back from version"));
    const resources = lines.map(({ message }) => message.split(" ")[3]);
    expect(resources).toEqual(expect.arrayContaining(["leases", "nodes", "pods"]));
    expect(new Set(resources).size).toBe(resources.length);
  });
});

test("a stale watch of leases lists nodes and pods again too", async () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", statusPeriodMs: null });
  const process = cluster.start(SPINE);
  cluster.advance(20 * S);
  cluster.api.faults.silenceWatches("leases");
  cluster.advance(cluster.profile.watchQuietMs * 2 + S);
  const lists = ["nodes", "leases", "pods"].map((resource) =>
    metricValue(process.metrics, "vigil_kube_lists_total", { resource, reason: "suspect" }),
  );
  expect(await Promise.all(lists)).toEqual([1, 1, 1]);
});

describe("one stale API server of two:", () => {
  /** The resourceVersions of a node that were published, in order. */
  const versionsOf = (cluster: VirtualCluster, name: string): number[] =>
    cluster
      .published("observed.node")
      .flatMap(({ body }) => (body.node === name ? [Number(body.resourceVersion)] : []));

  test("an observer that starts again shows nothing older", () => {
    const cluster = new VirtualCluster();
    cluster.addNode({ name: "a" });
    const fleet = new HandFleet("one");
    fleet.set("observer", 0, true);
    cluster.start(OBSERVER, { member: "one", fleet });
    cluster.advance(20 * S);
    const label = (value: string): void =>
      cluster.patch({ kind: "Node", namespace: "", name: "a" }, { metadata: { labels: { value } } });
    label("old");
    cluster.api.faults.staleServer(({ verb, query }) => verb === "list" && query.get("resourceVersion") === "0");
    cluster.advance(60 * S);
    label("new");
    cluster.advance(60 * S);
    fleet.set("observer", 0, false);
    cluster.advance(S);
    fleet.set("observer", 0, true);
    cluster.advance(10 * S);
    const versions = versionsOf(cluster, "a");
    expect(versions.length).toBeGreaterThan(1);
    expect(versions).toEqual(versions.toSorted((one, other) => one - other));
  });

  test("its silent watches are verified", () => {
    const world = new EvictionWorld();
    world.addZone("a", 6);
    world.addTolerantPod("a-0", "early");
    world.run();
    world.advance(60 * S);
    world.api.faults.staleServer(({ resource }) => ["nodes", "pods"].includes(resource.storage));
    world.api.faults.cutWatches();
    world.advance(60 * S);
    world.taint("a-0", [UNTOLERATED]);
    world.advance(190 * S);
    expect(world.read({ kind: "Pod", namespace: "default", name: "early" })?.metadata).toHaveProperty(
      "deletionTimestamp",
    );
  });
});
