/** A node's eviction and its pods in both modes, as tables with both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import type { ConditionStatus } from "../../protocols/objects.ts";
import {
  type DrainAhead,
  directEvictionEvent,
  directEvictionFromMs,
  drainAhead,
  foundTransitionMs,
  hasPodsToEvict,
  podsToEvict,
  readinessEvent,
  taintEvictionEvent,
} from "../../services/node/eviction.policy.ts";
import { observedPod } from "../support/observed-objects.ts";
import { condition, nodeWith, taint } from "./node-fixtures.ts";

test.each([
  ["True", "readyTrue"],
  ["False", "readyFalse"],
  ["Unknown", "readyUnknown"],
  [null, "readyMissing"],
] as const)("Ready %s: the event is %s", (ready, event) => {
  expect(readinessEvent(nodeWith(ready))).toBe(event);
});

describe("in taint mode the eviction follows the node's taints", () => {
  const ours = [taint("node.kubernetes.io/unreachable", "NoExecute")];
  const foreign = [
    taint("example.com/maintenance", "NoExecute"),
    taint("node.kubernetes.io/unreachable", "NoSchedule"),
  ];
  test.each([
    ["ready", [], "evictionCancelled"],
    ["starting", [], "evictionCancelled"],
    ["notReady", [], "evictionDue"],
    ["unknown", [], "evictionDue"],
    ["unknown", foreign, "evictionDue"],
    ["unknown", ours, "evictionFound"],
    ["ready", ours, "evictionFound"],
  ] as const)("%s with %j: %s", (readiness, taints, event) => {
    expect(taintEvictionEvent({ taints: [...taints] }, readiness)).toBe(event);
  });
});

describe("in direct mode", () => {
  const cases: [Readiness, EvictionStatus, "overdue" | "early" | "empty" | "unseen", string | null][] = [
    ["ready", "unmarked", "overdue", "evictionCancelled"],
    ["ready", "evicted", "early", "evictionCancelled"],
    ["notReady", "unmarked", "early", null],
    ["notReady", "unmarked", "overdue", "evictionDue"],
    ["unknown", "unmarked", "overdue", "evictionDue"],
    ["unknown", "toBeEvicted", "overdue", null],
    ["unknown", "toBeEvicted", "empty", "evictionCancelled"],
    ["unknown", "evicted", "overdue", null],
    ["unknown", "evicted", "empty", null],
    ["unknown", "unmarked", "empty", null],
    ["unknown", "unmarked", "unseen", null],
    ["unknown", "toBeEvicted", "unseen", null],
    ["unknown", "evicted", "unseen", null],
    ["starting", "unmarked", "overdue", null],
    ["starting", "evicted", "overdue", null],
  ];
  test.each(cases)("%s, %s, %s: %s", (readiness, status, drain, event) => {
    const hasPods = drain === "unseen" ? null : drain !== "empty";
    const eviction = { status, isOverdue: drain === "overdue" || drain === "unseen", hasPods };
    expect(directEvictionEvent(readiness, eviction)).toBe(event);
  });

  const profile = { podEvictionTimeoutMs: 300_000, nodeMonitorGraceMs: 50_000 };
  test.each([
    ["False counts from the transition", "notReady", true, 100_000 + 300_001],
    ["Unknown counts from the last heartbeat (R5.3)", "unknown", true, 60_000 + 300_001],
    ["a heartbeat not seen to arrive came a grace before the transition", "unknown", false, 50_000 + 300_001],
  ] as const)("%s", (_what, readiness, isHeartbeatWitnessed, fromMs) => {
    const down = { readiness, transitionMs: 100_000, lastHeartbeatMs: 60_000, isHeartbeatWitnessed, graceMs: 50_000 };
    expect(directEvictionFromMs(down, profile)).toBe(fromMs);
  });

  test.each([
    ["does not count", [{ fromAt: 90_000, toAt: 150_000 }], 60_000 + 60_000 + 300_001],
    ["holds back while it has no end", [{ fromAt: 90_000, toAt: null }], Number.POSITIVE_INFINITY],
  ])("frozen time %s", (_what, frozen, fromMs) => {
    const heartbeat = { lastHeartbeatMs: 60_000, isHeartbeatWitnessed: true };
    const down = { readiness: "unknown", transitionMs: 100_000, ...heartbeat, graceMs: 50_000 } as const;
    expect(directEvictionFromMs(down, profile, { frozen })).toBe(fromMs);
  });
});

test.each([
  ["shorter", 20_000, 80_000],
  ["longer", 90_000, 50_000],
  ["equal", 50_000, 50_000],
])("with a grace of its own that is %s a silent node counts from the shorter one", (_which, graceMs, lastMs) => {
  const profile = { podEvictionTimeoutMs: 300_000, nodeMonitorGraceMs: 50_000 };
  const heartbeat = { lastHeartbeatMs: 90_000, isHeartbeatWitnessed: false };
  const down = { readiness: "unknown", transitionMs: 100_000, ...heartbeat, graceMs } as const;
  expect(directEvictionFromMs(down, profile)).toBe(lastMs + 300_001);
});

describe("Ready of a node found at a start changed", () => {
  const at = { wallMs: 500_000, nowMs: 90_000, createdAt: 0 };
  const found = (status: ConditionStatus, transitionAt: number | null, heartbeatAt: number | null) =>
    foundTransitionMs(condition("Ready", status, { transitionAt, heartbeatAt }), at);

  test.each([
    ["as long ago as its kubelet's own stamps differ", "False", 7_000, 27_000, 71_000],
    ["as long ago as they differ, when the kubelet's clock is ahead of ours", "False", 907_000, 927_000, 71_000],
    ["now, when the stamps differ by less than their precision", "False", 7_000, 7_999, 90_000],
    ["now, when the heartbeat is stamped before the transition", "False", 27_000, 7_000, 90_000],
    ["now, without a heartbeat", "False", 7_000, null, 90_000],
    ["now, without a transition time", "False", null, 27_000, 90_000],
    ["when a controller wrote Unknown, at any heartbeat", "Unknown", 480_000, 7_000, 71_000],
    ["now, when a controller wrote Unknown in our future", "Unknown", 501_000, 7_000, 90_000],
  ] as const)("%s", (_when, status, transitionAt, heartbeatAt, ms) => {
    expect(found(status, transitionAt, heartbeatAt)).toBe(ms);
  });

  test.each([
    ["now, when only the transition is from before the node's creation", 479_999, 490_000, 90_000],
    ["as long ago as its stamps differ, when both are from before", 450_000, 469_000, 72_000],
    ["with its node, when its stamps differ by more", 7_000, 479_999, 70_000],
  ] as const)("%s", (_when, transitionAt, heartbeatAt, ms) => {
    const ready = condition("Ready", "False", { transitionAt, heartbeatAt });
    expect(foundTransitionMs(ready, { ...at, createdAt: 480_000 })).toBe(ms);
  });

  test("at the node's creation, if it has none", () => {
    expect(foundTransitionMs(null, { ...at, createdAt: 480_000 })).toBe(71_000);
  });
});

test("a drain that is ahead says while the pods of its node are not known", () => {
  const drain = (before: DrainAhead, fromMs: number | null, hasPods: boolean | null, wallMs = 1_001_000) =>
    drainAhead(before, { fromMs, hasPods }, { nowMs: 1000, wallMs });
  const unseen = drain({}, 6000, null);
  expect(unseen).toEqual({ evictionFromAt: 1_006_000, podsUnknown: true });
  expect(drain(unseen, 6000, true, 1_001_999)).toEqual({ evictionFromAt: 1_006_000 });
  expect(drain(unseen, 6000, true, 1_002_000)).toEqual({ evictionFromAt: 1_007_000 });
  expect(drain(unseen, null, false)).toEqual({});
  expect(drain({}, null, null)).toEqual({});
});

test("a drain deletes all pods but terminating and DaemonSet ones (R5.16, L39)", () => {
  const pods = [
    observedPod("plain"),
    observedPod("owned", { owner: "ReplicaSet" }),
    observedPod("daemon", { owner: "DaemonSet" }),
    observedPod("terminating", { deletionAt: 1 }),
    observedPod("done", { phase: "Failed" }),
  ];
  expect(podsToEvict(pods).map(({ name }) => name)).toEqual(["plain", "owned", "done"]);
  expect(hasPodsToEvict(pods)).toBe(true);
  expect(hasPodsToEvict(pods.slice(2, 4))).toBe(false);
  expect(hasPodsToEvict([])).toBe(false);
  expect(hasPodsToEvict(null)).toBeNull();
});
