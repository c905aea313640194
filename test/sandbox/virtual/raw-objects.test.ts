/** What a watch keeps of an object is what it keeps of the object that is made from it again. */
import { expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import {
  projectLease,
  projectNode,
  projectPod,
  projectPolicy,
  UNREPORTED,
} from "../../../services/platform/kube/watch/projection.ts";
import { leaseObject, nodeObject, podObject, policyObject } from "../../../services/sandbox/virtual/raw-objects.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";

const AT = Date.UTC(2026, 0, 1);
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };

/** What annotations record, with every field that may be recorded. */
const RECORDS = {
  taintsSeenAt: { "node.kubernetes.io/unreachable:NoExecute": AT + 1.5 },
  taintSwap: { at: AT, firstKey: "node.kubernetes.io/not-ready", firstAt: AT - 1000, secondAt: AT },
  readyTransitionsAt: [AT - 5000, AT],
  conditionSightings: [{ type: "GpuLost", status: "True", since: AT - 1000, transitionAt: AT - 2000 }],
  holds: [{ type: "DrainInProgress", fromAt: AT - 1000, toAt: null }],
  conditionTaints: { "vigil.io/gpu-lost:NoSchedule": "GpuLost" },
  provedDown: { proof: "Manual", by: "alice", at: AT, reason: "no power" },
  outOfServiceAt: AT,
} satisfies Partial<ObservedNode>;

test("a node keeps its conditions, taints and records", () => {
  const condition = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" } as const;
  const node = observedNode("n", {
    uid: "u",
    createdAt: AT,
    unschedulable: true,
    labels: { "topology.kubernetes.io/zone": "a" },
    taints: [UNREACHABLE],
    conditions: [{ ...condition, heartbeatAt: AT + 1.25, transitionAt: null }],
    ...RECORDS,
  });
  expect(projectNode(nodeObject(node), UNREPORTED)).toEqual(node);
});

test("a pod keeps what decides about it", () => {
  const more = { owner: "Job", ownerUid: "o", mirror: true, generation: 3, deletionAt: AT } as const;
  const tolerations = [{ key: "k", operator: "Exists", tolerationSeconds: 30 }];
  const pod = observedPod("p", { createdAt: AT, boundAt: AT + 500, tolerations, ...more });
  const bound = { node: "n", resourceVersion: "7", pod };
  expect(projectPod(podObject(bound), UNREPORTED)).toEqual(bound);
});

test("a lease keeps the microseconds of its renewal", () => {
  const lease = projectLease(leaseObject("n", AT + 0.125), UNREPORTED);
  expect(lease).toEqual({ node: "n", renewedAt: AT + 0.125, ownerUid: null });
  expect(projectLease(leaseObject("n", null), UNREPORTED)?.renewedAt).toBeNull();
});

test("a policy keeps its spec and generation", () => {
  const policy = { name: "gpu", uid: "u", resourceVersion: "7", generation: 2, changedAt: null, spec: {}, status: {} };
  expect(projectPolicy(policyObject(policy), UNREPORTED)).toEqual(policy);
});
