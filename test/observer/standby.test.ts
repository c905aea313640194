/** Silence counts on when the process that observes and judges dies and another takes over. */
import { expect, test } from "vitest";
import { type ObjectRef, Urgency } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { NODE as NODE_SERVICE, SPINE } from "../scenario/spine.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { Standstill } from "../support/standstill.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const GRACE_MS = STANDARD_PROFILE.nodeMonitorGraceMs;
const SECOND_MS = 1000;
const NODE: ObjectRef = { kind: "Node", namespace: "", name: "node-1" };

/** Gives a member every shard of the services that find a silent node. */
function giveAll(fleet: HandFleet): void {
  fleet.set("observer", 0, true);
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    fleet.set("node", shard, true);
    fleet.set("node-writer", shard, true);
  }
}

/** Makes the shard of the node resync, by processes that take ownership of it one after the other. */
function haveResynced(cluster: VirtualCluster, times: number): void {
  for (let time = 1; time <= times; time++) {
    const fleet = new HandFleet(`late-${time}`);
    fleet.set("node", shardOf("node-1"), true);
    cluster.start(NODE_SERVICE, { member: fleet.member, fleet });
    cluster.advance(10 * SECOND_MS);
  }
}

interface TakeOver {
  readonly silentMs: number;
  readonly pauseMs: number;
  readonly resyncs?: number;
  /** How long the next observer's lists take. */
  readonly listMs?: number;
}

/** A process with all services dies when a node has been silent for `silentMs`; another takes over after `pauseMs`. */
function takenOver({ silentMs, pauseMs, resyncs = 0, listMs = 0 }: TakeOver) {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  const [first, second] = [new HandFleet("one"), new HandFleet("two")];
  giveAll(first);
  const process = cluster.start(SPINE, { member: "one", fleet: first });
  cluster.start(SPINE, { member: "two", fleet: second });
  cluster.advance(100 * SECOND_MS);
  kubelet.post();
  kubelet.stop();
  haveResynced(cluster, resyncs);
  cluster.advance(silentMs - resyncs * 10 * SECOND_MS);
  process.kill();
  cluster.advance(pauseMs);
  cluster.api.faults.add({ fault: { kind: "latency", answerMs: listMs }, when: ({ verb }) => verb === "list" });
  giveAll(second);
  cluster.advance(0);
  const isUnknown = () => cluster.published("asked.condition").some(({ body }) => body.node === "node-1");
  return { cluster, kubelet, fleet: second, isUnknown };
}

test.each([0, 3])("silence from before a takeover counts on, over %i resyncs", (resyncs) => {
  const { cluster, isUnknown } = takenOver({ silentMs: 40 * SECOND_MS, pauseMs: 4 * SECOND_MS, resyncs });
  cluster.advance(GRACE_MS - 45 * SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("a heartbeat sent while no process observes counts", () => {
  const { cluster, kubelet, isUnknown } = takenOver({ silentMs: 48 * SECOND_MS, pauseMs: 0 });
  kubelet.resume();
  kubelet.post();
  kubelet.stop();
  cluster.advance(GRACE_MS - SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("after a gap longer than watchBlindMs every node gets a full grace period", () => {
  const pauseMs = STANDARD_PROFILE.watchBlindMs + 2 * SECOND_MS;
  const { cluster, isUnknown } = takenOver({ silentMs: 45 * SECOND_MS, pauseMs });
  cluster.advance(GRACE_MS - SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("pulses that waited unread in a standby continue no sync", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  const [first, second] = [new HandFleet("one"), new HandFleet("two")];
  const standstill = new Standstill(cluster.clock);
  giveAll(first);
  const process = cluster.start(SPINE, { member: "one", fleet: first });
  cluster.start(SPINE, { member: "two", fleet: second, standstill });
  cluster.advance(100 * SECOND_MS);
  kubelet.post();
  kubelet.stop();
  cluster.advance(5 * SECOND_MS);
  standstill.begin();
  cluster.advance(5 * SECOND_MS);
  process.kill();
  cluster.advance(2 * GRACE_MS);
  standstill.end();
  cluster.advance(0);
  giveAll(second);
  const isUnknown = () => cluster.published("asked.condition").some(({ body }) => body.node === "node-1");
  cluster.advance(GRACE_MS - SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("a node deleted unobserved and created again has a full grace period", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  const [first, second, third] = [new HandFleet("one"), new HandFleet("two"), new HandFleet("three")];
  giveAll(first);
  const one = cluster.start(SPINE, { member: "one", fleet: first });
  const two = cluster.start(SPINE, { member: "two", fleet: second });
  cluster.start(SPINE, { member: "three", fleet: third });
  cluster.advance(100 * SECOND_MS);
  kubelet.post();
  kubelet.stop();
  cluster.advance(2 * SECOND_MS);
  const { metadata, ...state } = cluster.node("node-1");
  one.kill();
  cluster.write({ verb: "delete", ref: NODE, urgency: Urgency.status, uid: metadata.uid });
  giveAll(second);
  cluster.advance(40 * SECOND_MS);
  const again = { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" }, ...state };
  cluster.write({ verb: "create", ref: NODE, urgency: Urgency.status, body: again });
  cluster.advance(20 * SECOND_MS);
  two.kill();
  giveAll(third);
  const isUnknown = () => cluster.published("asked.condition").some(({ body }) => body.node === "node-1");
  cluster.advance(GRACE_MS - 21 * SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("a standby that missed a deletion forgets the node by the second resync", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  const [first, second] = [new HandFleet("one"), new HandFleet("two")];
  giveAll(first);
  const one = cluster.start(SPINE, { member: "one", fleet: first });
  const two = cluster.start(SPINE, { member: "two", fleet: second });
  cluster.advance(100 * SECOND_MS);
  kubelet.post();
  kubelet.stop();
  cluster.advance(2 * SECOND_MS);
  const { metadata, ...state } = cluster.node("node-1");
  const mend = two.cutBus();
  cluster.write({ verb: "delete", ref: NODE, urgency: Urgency.status, uid: metadata.uid });
  cluster.advance(2 * SECOND_MS);
  mend();
  haveResynced(cluster, 2);
  one.kill();
  const again = { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" }, ...state };
  cluster.write({ verb: "create", ref: NODE, urgency: Urgency.status, body: again });
  giveAll(second);
  const isUnknown = () => cluster.published("asked.condition").some(({ body }) => body.node === "node-1");
  cluster.advance(GRACE_MS - SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

/** Removes the shards for a second, as when a process joins and dies. */
function takeForAMoment(cluster: VirtualCluster, fleet: HandFleet): void {
  fleet.set("observer", 0, false);
  for (let shard = 0; shard < SHARD_COUNT; shard++) fleet.set("node", shard, false);
  cluster.advance(SECOND_MS);
  giveAll(fleet);
}

test("silence counts on after another member owned the shards for a moment", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  const fleet = new HandFleet("one");
  giveAll(fleet);
  cluster.start(SPINE, { member: "one", fleet });
  cluster.advance(100 * SECOND_MS);
  kubelet.post();
  kubelet.stop();
  cluster.advance(40 * SECOND_MS);
  takeForAMoment(cluster, fleet);
  const isUnknown = () => cluster.published("asked.condition").some(({ body }) => body.node === "node-1");
  cluster.advance(GRACE_MS - 42 * SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("silence counts on when a new observer loses the shards before its first sync", () => {
  const { cluster, fleet, isUnknown } = takenOver({ silentMs: 40 * SECOND_MS, pauseMs: 2 * SECOND_MS, listMs: 1500 });
  takeForAMoment(cluster, fleet);
  cluster.advance(GRACE_MS - 44 * SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});
