/** Scenarios on virtual time: what a kubelet or a person says of a node becomes taints, labels and pods' readiness. */
import { expect, test } from "vitest";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { ALL_UNKNOWN, ALL_WELL, SPINE } from "./spine.ts";

const NODE = { kind: "Node", namespace: "", name: "node-1" } as const;

function cluster1() {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start(SPINE);
  cluster.advance(5_000);
  return { cluster, kubelet };
}

test("the taint that admission puts on a new node is taken off once it is ready (R4.22)", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1" });
  expect(cluster.taints("node-1")).toEqual(["node.kubernetes.io/not-ready:NoSchedule"]);
  cluster.start(SPINE);
  cluster.advance(0);
  expect(cluster.taints("node-1")).toEqual([]);
});

test("a kubelet that reports NotReady gets not-ready:NoSchedule and is judged, and is healed when it reports Ready", () => {
  const { cluster, kubelet } = cluster1();
  kubelet.report("Ready", "False");
  cluster.advance(0);
  expect(cluster.taints("node-1")).toEqual(["node.kubernetes.io/not-ready:NoSchedule"]);
  expect(cluster.published("judged.node").at(-1)?.body).toMatchObject({
    readiness: "notReady",
    eviction: "toBeEvicted",
  });
  kubelet.report("Ready", "True");
  cluster.advance(0);
  expect(cluster.taints("node-1")).toEqual([]);
  expect(cluster.published("asked.condition")).toEqual([]);
});

test("pressures and the cordon become taints in the order of the conditions, and go with them (R4.18)", () => {
  const { cluster, kubelet } = cluster1();
  for (const type of ["PIDPressure", "MemoryPressure", "DiskPressure"]) kubelet.report(type, "True");
  cluster.patch(NODE, { spec: { unschedulable: true } });
  cluster.advance(0);
  expect(cluster.taints("node-1").toSorted()).toEqual([
    "node.kubernetes.io/disk-pressure:NoSchedule",
    "node.kubernetes.io/memory-pressure:NoSchedule",
    "node.kubernetes.io/pid-pressure:NoSchedule",
    "node.kubernetes.io/unschedulable:NoSchedule",
  ]);
  for (const type of ["PIDPressure", "MemoryPressure", "DiskPressure"]) kubelet.report(type, "False");
  cluster.patch(NODE, { spec: { unschedulable: null } });
  cluster.advance(0);
  expect(cluster.taints("node-1")).toEqual([]);
});

test("foreign taints keep their place, value and time through every change of ours (P4)", () => {
  const foreign = [
    { key: "example.com/first", value: "1", effect: "NoSchedule" },
    { key: "node.kubernetes.io/memory-pressure", effect: "PreferNoSchedule" },
    { key: "example.com/last", effect: "NoExecute", timeAdded: "2025-12-31T00:00:00Z" },
  ];
  const { cluster, kubelet } = cluster1();
  cluster.patch(NODE, { spec: { taints: foreign } });
  kubelet.report("MemoryPressure", "True");
  cluster.advance(0);
  expect(cluster.node("node-1").spec.taints?.slice(0, 3)).toEqual(foreign);
  expect(cluster.taints("node-1")).toHaveLength(4);
  kubelet.report("MemoryPressure", "False");
  cluster.advance(0);
  expect(cluster.node("node-1").spec.taints).toEqual(foreign);
});

test("a NoExecute taint of ours is swapped for its opposite in one patch, and removed when the node is ready (4.7, L20)", () => {
  const { cluster, kubelet } = cluster1();
  kubelet.report("Ready", "False");
  cluster.patch(NODE, {
    spec: {
      taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" }],
    },
  });
  cluster.advance(0);
  expect(cluster.taints("node-1").toSorted()).toEqual([
    "node.kubernetes.io/not-ready:NoExecute",
    "node.kubernetes.io/not-ready:NoSchedule",
  ]);
  expect(cluster.published("judged.node").at(-1)?.body).toMatchObject({ readiness: "notReady", eviction: "evicted" });
  kubelet.report("Ready", "True");
  cluster.advance(0);
  expect(cluster.taints("node-1")).toEqual([]);
});

test("a start strips no NoExecute taint from a node that is not ready (L4)", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  kubelet.report("Ready", "False");
  const standing = { key: "node.kubernetes.io/not-ready", effect: "NoExecute", timeAdded: "2025-12-31T00:00:00Z" };
  cluster.patch(NODE, { spec: { taints: [standing] } });
  cluster.start(SPINE);
  cluster.advance(60_000);
  expect(cluster.node("node-1").spec.taints).toContainEqual(standing);
});

test("old label names follow the new ones (R4.27)", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", labels: { "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64" } });
  cluster.start(SPINE);
  cluster.advance(0);
  expect(cluster.node("node-1").metadata.labels).toMatchObject({
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "arm64",
  });
});

test("a node someone else made Unknown is not written again (R2.45), and gets its taint", () => {
  const { cluster, kubelet } = cluster1();
  kubelet.stop();
  kubelet.report("Ready", "Unknown");
  cluster.advance(120_000);
  expect(cluster.conditions("node-1")).toContain("MemoryPressure=False");
  expect(cluster.published("asked.condition")).toEqual([]);
  expect(cluster.taints("node-1")).toEqual(["node.kubernetes.io/unreachable:NoSchedule"]);
});

test("a Ready condition that lost its heartbeat time holds no verdict back", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1", statusPeriodMs: null });
  cluster.start(SPINE);
  cluster.advance(15_000);
  const conditions = [{ type: "Ready", lastHeartbeatTime: null }];
  cluster.patch({ kind: "Node", namespace: "", name: "node-1" }, { status: { conditions } }, "status");
  cluster.advance(10_000);
  kubelet.stop();
  cluster.advance(45_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  cluster.advance(1);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
});
