/** What happens to a node's eviction and its pods in both modes, as tables with both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import type { ConditionStatus } from "../../protocols/objects.ts";
import {
  directEvictionEvent,
  directEvictionFromMs,
  foundTransitionMs,
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

describe("in taint mode the eviction status is what the node's taints say", () => {
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
  const cases: [Readiness, EvictionStatus, boolean, string | null][] = [
    ["ready", "unmarked", true, "evictionCancelled"],
    ["ready", "evicted", false, "evictionCancelled"],
    ["notReady", "unmarked", false, null],
    ["notReady", "unmarked", true, "evictionDue"],
    ["unknown", "unmarked", true, "evictionDue"],
    ["unknown", "toBeEvicted", true, null],
    ["unknown", "evicted", true, null],
    ["starting", "unmarked", true, null],
    ["starting", "evicted", true, null],
  ];
  test.each(cases)("%s, %s, overdue %s: %s (5.3, 5.5)", (readiness, status, isOverdue, event) => {
    expect(directEvictionEvent(readiness, status, isOverdue)).toBe(event);
  });

  const profile = { podEvictionTimeoutMs: 300_000, nodeMonitorGraceMs: 50_000 };
  test.each([
    ["False counts from the transition", "notReady", true, 100_000 + 300_001],
    ["Unknown counts from the last sign (R5.3)", "unknown", true, 60_000 + 300_001],
    ["an unwitnessed sign is known from the API: a grace before the transition", "unknown", false, 50_000 + 300_001],
  ] as const)("%s", (_what, readiness, isHeartbeatWitnessed, fromMs) => {
    const down = { readiness, transitionMs: 100_000, lastHeartbeatMs: 60_000, isHeartbeatWitnessed };
    expect(directEvictionFromMs(down, profile)).toBe(fromMs);
  });
});

describe("the Ready condition of a node that is found last changed", () => {
  const at = { wallMs: 500_000, nowMs: 90_000, createdAt: 0 };
  const found = (status: ConditionStatus, transitionAt: number | null, heartbeatAt: number | null) =>
    foundTransitionMs(condition("Ready", status, { transitionAt, heartbeatAt }), at);

  test.each([
    ["as long ago as its kubelet's own stamps are apart", "False", 7_000, 27_000, 71_000],
    ["so, where the kubelet's clock is ahead of ours", "False", 907_000, 927_000, 71_000],
    ["now, where the stamps are less apart than they are exact", "False", 7_000, 7_999, 90_000],
    ["now, where the heartbeat is the earlier of the two", "False", 27_000, 7_000, 90_000],
    ["now, where there is no heartbeat", "False", 7_000, null, 90_000],
    ["now, where its time is not told", "False", null, 27_000, 90_000],
    ["when a controller wrote Unknown, whatever the kubelet's heartbeat says", "Unknown", 480_000, 7_000, 71_000],
    ["now, where a controller wrote Unknown in our future", "Unknown", 501_000, 7_000, 90_000],
  ] as const)("%s", (_when, status, transitionAt, heartbeatAt, ms) => {
    expect(found(status, transitionAt, heartbeatAt)).toBe(ms);
  });

  test("when the node was created, while there is none", () => {
    expect(foundTransitionMs(null, { ...at, createdAt: 480_000 })).toBe(71_000);
  });
});

test("pods to evict are all but those of DaemonSets and those on their way (R5.16, L39)", () => {
  const pods = [
    observedPod("plain"),
    observedPod("owned", { owner: "ReplicaSet" }),
    observedPod("daemon", { owner: "DaemonSet" }),
    observedPod("terminating", { deletionAt: 1 }),
    observedPod("done", { phase: "Failed" }),
  ];
  expect(podsToEvict(pods).map(({ name }) => name)).toEqual(["plain", "owned", "done"]);
});
