/** What happens to a node's eviction and its pods in both modes, as tables with both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import {
  apiInstantMs,
  directEvictionEvent,
  directEvictionFromMs,
  podsToEvict,
  podsToMarkUnready,
  readinessEvent,
  taintEvictionEvent,
} from "../../services/node/eviction.policy.ts";
import { observedPod } from "../support/observed-objects.ts";
import { condition, nodeWith, taint } from "./node-fixtures.ts";

test.each([
  ["True", false, "readyTrue"],
  ["False", false, "readyFalse"],
  ["Unknown", false, "readyUnknown"],
  [null, false, "readyMissing"],
  ["True", true, "readyUnknown"],
  [null, true, "readyUnknown"],
] as const)("Ready %s, silent %s: the event is %s", (ready, isSilent, event) => {
  expect(readinessEvent(nodeWith(ready), isSilent)).toBe(event);
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
    ["unknown", ours, "evictionDone"],
    ["ready", ours, "evictionDone"],
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
  ] as const)("%s", (_what, readiness, isSignWitnessed, fromMs) => {
    const down = { readiness, transitionMs: 100_000, lastSignMs: 60_000, isSignWitnessed };
    expect(directEvictionFromMs(down, profile)).toBe(fromMs);
  });
});

test("an API time is read as the latest instant it may name, and never as one to come", () => {
  expect(apiInstantMs(10_000, 15_000, 7_000)).toBe(3_000);
  expect(apiInstantMs(14_500, 15_000, 7_000)).toBe(7_000);
  expect(apiInstantMs(99_000, 15_000, 7_000)).toBe(7_000);
});

describe("pods to mark unready", () => {
  const pods = [
    observedPod("ready"),
    observedPod("unknown", { ready: "Unknown" }),
    observedPod("unready", { ready: "False" }),
    observedPod("bare", { ready: null }),
    observedPod("done", { phase: "Succeeded" }),
    observedPod("daemon", { owner: "DaemonSet" }),
  ];
  test("on an Unknown node are all that have another Ready status than False (R3.2, R3.5)", () => {
    const names = podsToMarkUnready(nodeWith("Unknown"), pods).map(({ name }) => name);
    expect(names).toEqual(["ready", "unknown", "done", "daemon"]);
  });

  test.each([["True"], [null]] as const)("are none while Ready is %s (R2.29)", (ready) => {
    const later = pods.map((pod) => ({ ...pod, boundAt: 5_000 }));
    expect(podsToMarkUnready(nodeWith(ready), later)).toEqual([]);
  });

  test("on a node whose kubelet says False are only those bound later than that (R3.11)", () => {
    const node = nodeWith(null, { conditions: [condition("Ready", "False", { transitionAt: 5_000 })] });
    const bound = [4_000, 5_000, 5_001].map((boundAt) => observedPod(`at-${boundAt}`, { boundAt }));
    expect(podsToMarkUnready(node, bound).map(({ name }) => name)).toEqual(["at-5001"]);
  });

  test("are none where it is not known since when the kubelet says False", () => {
    const node = nodeWith(null, { conditions: [condition("Ready", "False", { transitionAt: null })] });
    expect(podsToMarkUnready(node, pods)).toEqual([]);
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
