/** Scenarios on virtual time: a node falls silent, and returns with its status, with its lease alone, or never. */
import { expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { zoneService } from "../../services/zone/zone.service.ts";
import { recordingLog } from "../support/recording-log.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { ALL_UNKNOWN, ALL_WELL, NODE, OBSERVER, SPINE } from "./spine.ts";

/** A cluster with one node whose last heartbeat was at 30 s. */
function silentCluster() {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start(SPINE);
  cluster.advance(30_000);
  kubelet.stop();
  return { cluster, kubelet };
}

test("a silent node is found at the first instant after its grace", () => {
  const { cluster } = silentCluster();
  cluster.advance(50_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  cluster.advance(1);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  expect(cluster.published("asked.condition").map(({ atMs }) => atMs)).toEqual([80_001]);
});

test("four conditions get upstream's reason, message and one transition time (R2.44)", () => {
  const { cluster } = silentCluster();
  const before = cluster.node("node-1").status.conditions ?? [];
  cluster.advance(50_001);
  const after = cluster.node("node-1").status.conditions ?? [];
  expect(after).toHaveLength(4);
  for (const condition of after) {
    const { type } = condition;
    expect(condition).toEqual({
      type,
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastHeartbeatTime: before.find((one) => one.type === type)?.lastHeartbeatTime,
      lastTransitionTime: "2026-01-01T00:01:20Z",
    });
  }
});

test("the NoSchedule taint follows in the same instant; each request is made once", () => {
  const { cluster } = silentCluster();
  cluster.advance(50_001);
  expect(cluster.node("node-1").spec.taints).toEqual([
    { key: "node.kubernetes.io/unreachable", effect: "NoSchedule", timeAdded: "2026-01-01T00:01:20Z" },
  ]);
  const judged = cluster.published("judged.node").at(-1);
  expect(judged?.atMs).toBe(80_001);
  expect(judged?.body).toMatchObject({
    readiness: "unknown",
    ready: "Unknown",
    eviction: "toBeEvicted",
    counted: true,
  });
  const asked = cluster.published("asked.taint").length;
  cluster.advance(300_000);
  expect(cluster.published("asked.condition")).toHaveLength(1);
  expect(cluster.published("asked.taint")).toHaveLength(asked);
});

test("a verdict is one lease read and one patch, whatever the node's version", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start(SPINE);
  const before = cluster.node("node-1").metadata.resourceVersion;
  cluster.advance(30_000);
  kubelet.post();
  expect(cluster.node("node-1").metadata.resourceVersion).not.toBe(before);
  kubelet.stop();
  cluster.advance(50_000);
  const calls: string[] = [];
  const note = ({ verb, resource: { plural }, subresource }: Call): boolean => {
    if (plural !== "events") calls.push(`${verb} ${plural}${subresource === "" ? "" : `/${subresource}`}`);
    return false;
  };
  cluster.api.faults.add({ fault: { kind: "stall" }, when: note });
  cluster.advance(1);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  // The taint of the verdict comes after it.
  expect(calls.slice(0, 3)).toEqual(["get leases", "patch nodes/status", "patch nodes"]);
});

test("every write can be traced back to the last heartbeat", () => {
  const { cluster } = silentCluster();
  cluster.advance(50_001);
  const [ask] = cluster.published("asked.condition");
  const [written] = cluster.published("done.write").filter(({ body }) => body.ask === "asked.condition");
  expect(written?.cause).toBe(ask?.id);
  const heartbeat = cluster.published("observed.lease").find(({ id }) => id === ask?.cause);
  expect(heartbeat?.body.heartbeats).toMatchObject([
    { node: "node-1", kind: "lease", seenAt: cluster.clock.wallMs() - 50_001 },
  ]);
});

test("a node that returns with its status is healed at once", () => {
  const { cluster, kubelet } = silentCluster();
  cluster.advance(120_000);
  kubelet.resume();
  cluster.advance(0);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  expect(cluster.taints("node-1")).toEqual([]);
  expect(cluster.published("judged.node").at(-1)?.body).toMatchObject({ readiness: "ready", eviction: "unmarked" });
  cluster.advance(300_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
});

test("a node that returns with its lease alone stays Unknown until it posts a status", () => {
  const { cluster, kubelet } = silentCluster();
  cluster.advance(60_000);
  kubelet.renew();
  cluster.advance(60_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  kubelet.post();
  cluster.advance(0);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
});

test("a node that renews only its lease stays Ready (R2.42)", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", statusPeriodMs: null });
  cluster.start(SPINE);
  cluster.advance(3_600_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  expect(cluster.published("asked.condition")).toEqual([]);
});

test("a node that only posts its status is Ready, and silent when it stops (R2.34)", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1", leasePeriodMs: null, statusPeriodMs: 10_000 });
  cluster.start(SPINE);
  cluster.advance(600_000);
  expect(cluster.published("asked.condition")).toEqual([]);
  kubelet.stop();
  cluster.advance(50_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  cluster.advance(1);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
});

test("heartbeats alone do not publish the node again", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", statusPeriodMs: 10_000 });
  cluster.start(SPINE);
  cluster.advance(1_000);
  const before = cluster.published("observed.node").length;
  cluster.advance(600_000);
  expect(cluster.published("observed.node")).toHaveLength(before);
});

test("a node that never posted gets its startup grace, then its conditions (R2.32)", () => {
  const cluster = new VirtualCluster();
  cluster.start(SPINE);
  cluster.advance(5_000);
  cluster.addNode({ name: "node-1", posts: false, leasePeriodMs: null });
  cluster.advance(60_000);
  expect(cluster.conditions("node-1")).toEqual([]);
  cluster.advance(1);
  const conditions = cluster.node("node-1").status.conditions ?? [];
  expect(conditions.map(({ type }) => type)).toEqual(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]);
  for (const condition of conditions) {
    expect(condition).toMatchObject({
      status: "Unknown",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: "2026-01-01T00:00:05Z",
      lastTransitionTime: "2026-01-01T00:01:05Z",
    });
  }
  expect(cluster.taints("node-1")).toEqual(["node.kubernetes.io/unreachable:NoSchedule"]);
});

test("the conditions written for a node that never posted are no sign of its life", () => {
  const cluster = new VirtualCluster();
  cluster.start({ ...SPINE, zone: zoneService });
  cluster.advance(5_000);
  cluster.addNode({ name: "node-1", posts: false, leasePeriodMs: null });
  cluster.addNode({ name: "node-2" });
  cluster.advance(90_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  const bodies = cluster.published("judged.node").map(({ body }) => body);
  const last = bodies.findLast(({ node }) => node === "node-1");
  expect(last).toMatchObject({ readiness: "unknown", heartbeatAt: null, eviction: "evicted" });
});

test("a node silent since before Vigil started gets its startup grace (R2.32)", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", posts: false, leasePeriodMs: null });
  cluster.advance(3_600_000);
  cluster.start(SPINE);
  cluster.advance(59_000);
  expect(cluster.conditions("node-1")).toEqual([]);
  cluster.advance(2_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
});

test("a node that posts within its startup grace is Ready, with the shorter grace", () => {
  const cluster = new VirtualCluster();
  cluster.start(SPINE);
  cluster.advance(5_000);
  const kubelet = cluster.addNode({ name: "node-1", posts: false, leasePeriodMs: null, statusPeriodMs: null });
  cluster.advance(59_000);
  kubelet.post();
  cluster.advance(50_000);
  expect(cluster.conditions("node-1")).toContain("Ready=True");
  cluster.advance(1);
  expect(cluster.conditions("node-1")).toContain("Ready=Unknown");
});

test("a node replaced under its name is a new node with a full grace (unlike R2.16)", () => {
  const { cluster } = silentCluster();
  cluster.advance(49_000);
  cluster.write({ verb: "delete", urgency: 0, ref: { kind: "Node", namespace: "", name: "node-1" } });
  const kubelet = cluster.addNode({ name: "node-1", leasePeriodMs: null, statusPeriodMs: null });
  cluster.advance(50_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  cluster.advance(1);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  expect(kubelet.refusals).toEqual([]);
});

test("a deleted node leaves nothing behind: no verdict, no request", () => {
  const { cluster } = silentCluster();
  cluster.advance(20_000);
  cluster.write({ verb: "delete", urgency: 0, ref: { kind: "Node", namespace: "", name: "node-1" } });
  cluster.advance(600_000);
  expect(cluster.published("asked.condition")).toEqual([]);
  expect(cluster.published("observed.gone")).toHaveLength(1);
});

test("a node without Ready gets the longer grace from its last heartbeat (R2.36)", () => {
  const { cluster } = silentCluster();
  cluster.advance(20_000);
  const node = { kind: "Node", namespace: "", name: "node-1" } as const;
  cluster.patch(node, { status: { conditions: [{ type: "Ready", $patch: "delete" }] } }, "status");
  cluster.advance(40_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL.slice(0, 3));
  cluster.advance(1);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  const ready = cluster.node("node-1").status.conditions?.find(({ type }) => type === "Ready");
  expect(ready?.reason).toBe("NodeStatusNeverUpdated");
});

test("a silent node that loses Ready before the write gets the longer grace (R2.36)", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start({ ...OBSERVER, ...NODE });
  cluster.advance(30_000);
  kubelet.stop();
  cluster.advance(51_000);
  const node = { kind: "Node", namespace: "", name: "node-1" } as const;
  cluster.patch(node, { status: { conditions: [{ type: "Ready", $patch: "delete" }] } }, "status");
  cluster.advance(9_000);
  const wanted = cluster.published("asked.condition").map(({ atMs, body }) => [atMs, body.conditions.length]);
  expect(wanted.slice(0, 2)).toEqual([
    [80_001, 4],
    [81_000, 0],
  ]);
  expect(wanted.slice(2).every(([, count]) => count === 0)).toBe(true);
  expect(cluster.published("judged.node").at(-1)?.body).toMatchObject({ readiness: "starting", ready: null });
  cluster.advance(1);
  const again = cluster.published("asked.condition").at(-1);
  expect(again?.atMs).toBe(90_001);
  expect(again?.body.conditions[0]).toMatchObject({ type: "Ready", reason: "NodeStatusNeverUpdated" });
});

test("a verdict does not depend on an observation without Ready that was lost", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start({ ...OBSERVER, ...NODE });
  cluster.advance(30_000);
  kubelet.stop();
  const { clock, transport } = cluster;
  const whose = { service: "observer", member: "stranger", log: recordingLog(), metrics: createMetrics() };
  const foreign = typedBus({ transport, clock, cluster: "test", mailboxMessagesMax: 100, ...whose });
  const status = { node: "node-1", kind: "status", renewedAt: null, seenAt: clock.wallMs() } as const;
  const heartbeats = [{ ...status, resourceVersion: "of another state" }];
  foreign.publish("observed.lease", { shard: shardOf("node-1"), heartbeats }, null);
  cluster.advance(51_000);
  const [ask] = cluster.published("asked.condition");
  expect(ask?.body.resourceVersion).toBe(cluster.node("node-1").metadata.resourceVersion);
});

test("a step back of every clock makes no live node Unknown (R2.38)", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1" });
  cluster.start(SPINE);
  cluster.advance(30_000);
  cluster.clock.stepWall(-3_600_000);
  cluster.advance(300_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  expect(cluster.published("asked.condition")).toEqual([]);
});
