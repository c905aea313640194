/** The observer on a virtual cluster: what it publishes, in which order, and when. */
import { describe, expect, test } from "vitest";
import { EMPTY_DIGEST } from "../../protocols/digest.ts";
import { MESSAGE_BYTES_MAX } from "../../protocols/frame.ts";
import { HEARTBEATS_PER_MESSAGE_MAX } from "../../protocols/observed.ts";
import type { Clock, Wire } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { NODE, OBSERVER, SPINE } from "../scenario/spine.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { metricValue } from "../support/metric-value.ts";
import { type ReceivedMessage, VirtualCluster } from "../support/virtual-cluster.ts";

/** Types of the messages about one node's shard in order of publication; runs of one type appear once. */
function order(received: readonly ReceivedMessage[], node: string): string[] {
  const types = received
    .filter(({ type, body }) => type.startsWith("observed.") && shardIn(body) === shardOf(node))
    .map(({ type }) => type);
  return types.filter((type, index) => type !== types[index - 1]);
}

function shardIn(body: object): number {
  if ("shard" in body && typeof body.shard === "number") return body.shard;
  return "node" in body && typeof body.node === "string" ? shardOf(body.node) : -1;
}

describe("a resync publishes", () => {
  test("nodes, pods, heartbeats, and then the pulse that ends it", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    kubelet.report("Ready", "False");
    cluster.addPod("node-1", "pod-1");
    cluster.start(OBSERVER);
    cluster.advance(0);
    cluster.received.length = 0;
    cluster.start(NODE);
    cluster.advance(0);
    expect(order(cluster.received, "node-1")).toEqual([
      "observed.node",
      "observed.pods",
      "observed.lease",
      "observed.pulse",
    ]);
    const pulse = cluster.published("observed.pulse").find(({ body }) => body.shard === shardOf("node-1"));
    const request = cluster.published("asked.resync").find(({ body }) => body.shard === shardOf("node-1"));
    expect(pulse?.cause).toBe(request?.id);
    expect(pulse?.body).toMatchObject({ nodes: { count: 1 }, pods: { count: 1 }, resyncs: 2 });
  });

  test("heartbeats with the instants at which they were seen", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    cluster.start(OBSERVER);
    cluster.advance(20_000);
    kubelet.stop();
    cluster.clock.stepWall(-500_000);
    cluster.advance(15_000);
    cluster.received.length = 0;
    cluster.start(NODE);
    cluster.advance(0);
    const [batch] = cluster.published("observed.lease");
    const lease = batch?.body.heartbeats.find(({ kind }) => kind === "lease");
    expect((batch?.at ?? 0) - (lease?.seenAt ?? 0)).toBe(15_000);
  });
});

/** A wire that reads watches of leases in bursts: each part arrives `lateMs` late and may have waited `waitedMs`. */
function gathering(wire: Wire, clock: Clock, lateMs: number, waitedMs = lateMs): Wire {
  return {
    send: (request, exchange) => {
      if (!request.path.includes("/leases?") || !request.path.includes("watch=true"))
        return wire.send(request, exchange);
      const data = (chunk: Uint8Array): void => {
        const kept = chunk.slice();
        clock.after(lateMs, () => exchange.data(kept, waitedMs));
      };
      return wire.send(request, {
        response: (status, headers) => exchange.response(status, headers),
        data,
        end: () => exchange.end(),
        failed: (problem) => exchange.failed(problem),
      });
    },
  };
}

test("a renewal that waited to be read counts from when it was made", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start(OBSERVER, { wireOver: (wire) => gathering(wire, cluster.clock, 200) });
  cluster.advance(35_000);
  kubelet.stop();
  cluster.advance(5_000);
  const leases = cluster.published("observed.lease").flatMap(({ body }) => body.heartbeats);
  const last = leases.findLast(({ kind }) => kind === "lease");
  expect(last?.renewedAt).not.toBeNull();
  expect(last?.seenAt).toBe(last?.renewedAt);
});

/** The clock of a process that is interrupted for a millisecond before each read, while `isBusy`. */
function interrupted(clock: Clock, isBusy: () => boolean): Clock {
  let interruptedMs = 0;
  const read = (nowMs: number): number => {
    if (isBusy()) interruptedMs += 1;
    return nowMs + interruptedMs;
  };
  return {
    monotonicMs: () => read(clock.monotonicMs()),
    wallMs: () => read(clock.wallMs()),
    after: (delayMs, fire) => clock.after(delayMs, fire),
    soon: (run) => clock.soon(run),
  };
}

test("an interruption between two reads of clocks dates no renewal early", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1" });
  let isBusy = false;
  cluster.start(OBSERVER, {
    wireOver: (wire) => gathering(wire, cluster.clock, 200, 400),
    clockOver: (clock) => interrupted(clock, () => isBusy),
  });
  cluster.advance(30_100);
  isBusy = true;
  cluster.advance(5_000);
  const leases = cluster.published("observed.lease").flatMap(({ body }) => body.heartbeats);
  const last = leases.findLast(({ kind }) => kind === "lease");
  expect(last?.renewedAt).toBe(Date.parse("2026-01-01T00:00:30Z"));
  expect(last?.seenAt).toBeGreaterThanOrEqual(last?.renewedAt ?? Number.POSITIVE_INFINITY);
});

describe("pods are published", () => {
  test("only while the state of their node calls for it", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    cluster.addPod("node-1", "pod-1");
    cluster.start(OBSERVER);
    cluster.advance(5_000);
    expect(cluster.published("observed.pods")).toEqual([]);
    kubelet.report("Ready", "False");
    cluster.advance(0);
    expect(cluster.published("observed.pods").map(({ body }) => body.pods.map(({ name }) => name))).toEqual([
      ["pod-1"],
    ]);
    kubelet.report("Ready", "True");
    cluster.advance(0);
    cluster.received.length = 0;
    cluster.addPod("node-1", "pod-2");
    cluster.advance(2_000);
    expect(cluster.published("observed.pods")).toEqual([]);
    expect(cluster.published("observed.pulse").at(-1)?.body.pods).toEqual(EMPTY_DIGEST);
  });

  test("together when many change within a moment", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    kubelet.report("Ready", "False");
    cluster.start(OBSERVER);
    cluster.advance(5_000);
    cluster.received.length = 0;
    for (let index = 0; index < 20; index++) cluster.addPod("node-1", `pod-${index}`);
    cluster.advance(1_000);
    expect(cluster.published("observed.pods")).toHaveLength(1);
    expect(cluster.published("observed.pods")[0]?.body.pods).toHaveLength(20);
  });

  test("in chunks that fit a message, however many there are", () => {
    const cluster = new VirtualCluster();
    const kubelet = cluster.addNode({ name: "node-1" });
    kubelet.report("Ready", "False");
    const tolerations = [{ key: `${"k".repeat(190)}.example/${"k".repeat(50)}`, operator: "Exists" }];
    for (let index = 0; index < 300; index++) cluster.addPod("node-1", `pod-${index}`, { spec: { tolerations } });
    cluster.start(OBSERVER);
    cluster.advance(1_000);
    const chunks = cluster.published("observed.pods");
    expect(chunks.length).toBeGreaterThan(1);
    expect(new Set(chunks.map(({ body }) => body.version)).size).toBe(1);
    expect(chunks.flatMap(({ body }) => body.pods)).toHaveLength(300);
    for (const { body } of chunks) expect(JSON.stringify(body).length).toBeLessThan(MESSAGE_BYTES_MAX - 1_024);
  });
});

test("heartbeats of one moment share messages, up to the limit of a message", () => {
  const cluster = new VirtualCluster({ profile: { pulsePeriodMs: 60_000, pulseTimeoutMs: 240_000 } });
  const names = Array.from({ length: 30_000 }, (_, index) => `n${index}`)
    .filter((name) => shardOf(name) === 0)
    .slice(0, 400);
  const kubelets = names.map((name) => cluster.addNode({ name, leasePeriodMs: null, statusPeriodMs: null }));
  cluster.start(OBSERVER);
  cluster.advance(1_000);
  cluster.received.length = 0;
  for (const kubelet of kubelets) kubelet.renew();
  cluster.advance(cluster.profile.leaseBatchMs);
  const sizes = cluster.published("observed.lease").map(({ body }) => body.heartbeats.length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(400);
  expect(Math.max(...sizes)).toBe(HEARTBEATS_PER_MESSAGE_MAX);
  expect(sizes).toHaveLength(3);
});

test("the status and the lease of a node share a message", () => {
  const cluster = new VirtualCluster();
  const [first = "", ...others] = Array.from({ length: 10_000 }, (_, index) => `n${index}`)
    .filter((name) => shardOf(name) === 0)
    .slice(0, 100);
  cluster.addNode({ name: first, leasePeriodMs: null });
  cluster.start(OBSERVER);
  cluster.advance(0);
  for (const name of others) cluster.addNode({ name });
  cluster.advance(0);
  cluster.received.length = 0;
  cluster.start(NODE);
  cluster.advance(0);
  const batches = cluster.published("observed.lease").map(({ body }) => body.heartbeats);
  expect(batches.map(({ length }) => length)).toEqual([HEARTBEATS_PER_MESSAGE_MAX - 1, 50]);
  expect(batches.flatMap((batch) => [...new Set(batch.map(({ node }) => node))])).toHaveLength(100);
});

test("ordinary heartbeats go right before the pulse of the same moment", () => {
  const cluster = new VirtualCluster();
  for (let index = 0; index < 30; index++) cluster.addNode({ name: `node-${index}` });
  cluster.start(OBSERVER);
  cluster.advance(30_000);
  cluster.received.length = 0;
  cluster.advance(20_000);
  const batches = cluster.published("observed.lease");
  expect(batches.length).toBeGreaterThan(30);
  const pulsedAt = new Map(
    cluster.published("observed.pulse").map(({ body, atMs }) => [`${body.shard} ${atMs}`, atMs]),
  );
  expect(batches.filter(({ body, atMs }) => !pulsedAt.has(`${body.shard} ${atMs}`))).toEqual([]);
  const types = order(cluster.received, "node-1");
  expect(types.slice(types.indexOf("observed.lease")).slice(0, 2)).toEqual(["observed.lease", "observed.pulse"]);
});

test("only the owner of shard 0 observes; losing it stops all messages and timers", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", leasePeriodMs: null, statusPeriodMs: null });
  const fleet = new HandFleet("one");
  const before = cluster.clock.pendingTimers;
  cluster.start(OBSERVER, { member: "one", fleet });
  fleet.set("observer", 7, true);
  cluster.advance(5_000);
  expect(cluster.received).toEqual([]);
  fleet.set("observer", 0, true);
  cluster.advance(5_000);
  expect(cluster.published("observed.pulse").length).toBeGreaterThan(64);
  fleet.set("observer", 0, false);
  cluster.advance(0);
  cluster.received.length = 0;
  cluster.advance(60_000);
  expect(cluster.received).toEqual([]);
  expect(cluster.clock.pendingTimers).toBe(before);
});

test("a quiet lease watch that agrees with live leases is not listed again", async () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1" }).stop();
  const process = cluster.start(SPINE);
  cluster.advance(120_000);
  expect(await metricValue(process.metrics, "vigil_stale_lease_watches_total")).toBe(0);
});

test("a stale lease watch is found within watchQuietMs and listed again (85221)", async () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", statusPeriodMs: null });
  const process = cluster.start(SPINE);
  cluster.advance(20_000);
  cluster.api.faults.silenceWatches("leases");
  cluster.advance(cluster.profile.watchQuietMs * 2 + 1_000);
  expect(await metricValue(process.metrics, "vigil_stale_lease_watches_total")).toBe(1);
  const leases = cluster.published("observed.lease").filter(({ atMs }) => atMs > 21_000);
  expect(leases.length).toBeGreaterThan(0);
});
