/** Scenarios on virtual time: the status of a node becomes taints, labels and the readiness of its pods. */
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

test("the taint that admission puts on a new node is removed once it is Ready (R4.22)", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1" });
  expect(cluster.taints("node-1")).toEqual(["node.kubernetes.io/not-ready:NoSchedule"]);
  cluster.start(SPINE);
  cluster.advance(0);
  expect(cluster.taints("node-1")).toEqual([]);
});

test("a node that reports NotReady is tainted and judged, and healed when it is Ready", () => {
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

test("pressures and a cordon become taints, and are removed with their causes (R4.18)", () => {
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

test("foreign taints keep their place, value and time through all our changes (P4)", () => {
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

test("our NoExecute taint is swapped in one patch, and removed on Ready (L20)", () => {
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

test("a start removes no NoExecute taint from a node that is not Ready (L4)", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  kubelet.report("Ready", "False");
  const existing = { key: "node.kubernetes.io/not-ready", effect: "NoExecute", timeAdded: "2025-12-31T00:00:00Z" };
  cluster.patch(NODE, { spec: { taints: [existing] } });
  cluster.start(SPINE);
  cluster.advance(60_000);
  expect(cluster.node("node-1").spec.taints).toContainEqual(existing);
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

test("a node that is already Unknown is not written again (R2.45), and is tainted", () => {
  const { cluster, kubelet } = cluster1();
  kubelet.stop();
  kubelet.report("Ready", "Unknown");
  cluster.advance(120_000);
  expect(cluster.conditions("node-1")).toContain("MemoryPressure=False");
  expect(cluster.published("asked.condition")).toEqual([]);
  expect(cluster.taints("node-1")).toEqual(["node.kubernetes.io/unreachable:NoSchedule"]);
});

test("a Ready condition without a heartbeat time delays no verdict", () => {
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
