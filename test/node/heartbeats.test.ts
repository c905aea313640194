/** Heartbeats: from when a node counts as silent to a process that has received only some of them. */
import { expect, test } from "vitest";
import { HeartbeatRecord, ReadyTransition } from "../../services/node/heartbeats.ts";
import { NODE, OBSERVER } from "../scenario/spine.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { loseObserved } from "../support/lossy-transport.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { nodeWith } from "./node-fixtures.ts";

const KNOWN_SINCE_MS = 100_000;

test("an abandoned lease alone does not make a node silent", () => {
  const heartbeats = new HeartbeatRecord(KNOWN_SINCE_MS);
  heartbeats.record({ kind: "lease", renewedAt: 1 }, 60_000, "lease");
  expect(heartbeats.lastMs).toBe(KNOWN_SINCE_MS);
});

test("heartbeats from before a node was known count from when they were seen", () => {
  const heartbeats = new HeartbeatRecord(KNOWN_SINCE_MS);
  heartbeats.record({ kind: "lease", renewedAt: 1 }, 60_000, "lease");
  heartbeats.record({ kind: "status", renewedAt: 2 }, 90_000, "status");
  expect(heartbeats.lastMs).toBe(90_000);
});

test("a node without a lease is silent since its last status", () => {
  const heartbeats = new HeartbeatRecord(KNOWN_SINCE_MS);
  heartbeats.record({ kind: "status", renewedAt: null }, 60_000, "status");
  expect(heartbeats.lastMs).toBe(60_000);
});

test("an older heartbeat does not shorten a restarted grace", () => {
  const heartbeats = new HeartbeatRecord(KNOWN_SINCE_MS);
  heartbeats.rebase(130_000);
  heartbeats.record({ kind: "status", renewedAt: 2 }, 90_000, "status");
  expect(heartbeats.lastMs).toBe(130_000);
});

test("a heartbeat is witnessed when its stamp changes, not on discovery or a new grace", () => {
  const heartbeats = new HeartbeatRecord(KNOWN_SINCE_MS);
  heartbeats.record({ kind: "lease", renewedAt: 1 }, 60_000, "lease");
  heartbeats.rebase(130_000);
  expect(heartbeats.witnessedMs).toBe(Number.NEGATIVE_INFINITY);
  heartbeats.record({ kind: "lease", renewedAt: 2 }, 140_000, "lease");
  heartbeats.rebase(150_000);
  expect(heartbeats.witnessedMs).toBe(140_000);
});

test("a live lease counts though an old status comes before it in the message", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1", statusPeriodMs: null });
  cluster.start(OBSERVER);
  cluster.advance(2 * cluster.profile.nodeMonitorGraceMs);
  const stopLosing = loseObserved(cluster.transport, ({ noun }) => noun === "lease");
  cluster.start(NODE);
  cluster.advance(0);
  stopLosing();
  // Its resync brings the heartbeats to a view that is whole by now: no pulse shows that heartbeats were lost.
  cluster.start(NODE);
  cluster.advance(0);
  const kinds = cluster
    .published("observed.lease")
    .at(-1)
    ?.body.heartbeats.map(({ kind }) => kind);
  expect(kinds).toEqual(["status", "lease"]);
  expect(cluster.published("asked.condition")).toEqual([]);
});

test("the end of a halt restarts the timeout of Ready, and is no transition", () => {
  const clock = new VirtualClock();
  const transition = new ReadyTransition(nodeWith("False"), clock);
  clock.advance(10_000);
  transition.observe(nodeWith("True"), clock.monotonicMs());
  const changedMs = clock.monotonicMs();
  clock.advance(10_000);
  transition.observe(nodeWith("True"), clock.monotonicMs());
  expect(transition.restartAfterHalt(clock.monotonicMs())).toBe(true);
  expect(transition.restartAfterHalt(clock.monotonicMs())).toBe(false);
  expect([transition.ms, transition.timeoutFromMs]).toEqual([changedMs, clock.monotonicMs()]);
});
