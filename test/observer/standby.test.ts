/** What is known of silence when the process that observes dies together with the one that judges. */
import { expect, test } from "vitest";
import { type ObjectRef, Urgency } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { SPINE } from "../scenario/spine.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const GRACE_MS = STANDARD_PROFILE.nodeMonitorGraceMs;
const SECOND_MS = 1000;
const NODE: ObjectRef = { kind: "Node", namespace: "", name: "node-1" };

/** Gives a member all that it takes to find a silent node. */
function giveAll(fleet: HandFleet): void {
  fleet.set("observer", 0, true);
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    fleet.set("node", shard, true);
    fleet.set("node-writer", shard, true);
  }
}

/** A node silent for so long when a process dies that does everything; another takes over after a while. */
function takenOver({ silentMs, pauseMs }: { readonly silentMs: number; readonly pauseMs: number }) {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  const [first, second] = [new HandFleet("one"), new HandFleet("two")];
  giveAll(first);
  const process = cluster.start(SPINE, { member: "one", fleet: first });
  cluster.start(SPINE, { member: "two", fleet: second });
  cluster.advance(100 * SECOND_MS);
  kubelet.post();
  kubelet.stop();
  cluster.advance(silentMs);
  process.kill();
  cluster.advance(pauseMs);
  giveAll(second);
  cluster.advance(0);
  const isUnknown = () => cluster.said("asked.condition").some(({ body }) => body.node === "node-1");
  return { cluster, kubelet, isUnknown };
}

test("silence that began under the observer before is not counted anew", () => {
  const { cluster, isUnknown } = takenOver({ silentMs: 40 * SECOND_MS, pauseMs: 4 * SECOND_MS });
  cluster.advance(GRACE_MS - 45 * SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("a heartbeat that came while nobody observed is one", () => {
  const { cluster, kubelet, isUnknown } = takenOver({ silentMs: 48 * SECOND_MS, pauseMs: 0 });
  kubelet.resume();
  kubelet.post();
  kubelet.stop();
  cluster.advance(GRACE_MS - SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("after a blindness longer than watchBlindMs every node gets its whole grace again", () => {
  const pauseMs = STANDARD_PROFILE.watchBlindMs + 2 * SECOND_MS;
  const { cluster, isUnknown } = takenOver({ silentMs: 45 * SECOND_MS, pauseMs });
  cluster.advance(GRACE_MS - SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});

test("a node deleted while nobody observed is forgotten: made anew, it has its whole grace", () => {
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
  const anew = { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" }, ...state };
  cluster.write({ verb: "create", ref: NODE, urgency: Urgency.status, body: anew });
  cluster.advance(20 * SECOND_MS);
  two.kill();
  giveAll(third);
  const isUnknown = () => cluster.said("asked.condition").some(({ body }) => body.node === "node-1");
  cluster.advance(GRACE_MS - 21 * SECOND_MS);
  expect(isUnknown()).toBe(false);
  cluster.advance(2 * SECOND_MS);
  expect(isUnknown()).toBe(true);
});
