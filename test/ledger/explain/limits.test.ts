/** Which limit explain and `get nodes` name for a node that waits. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import { ClusterState } from "../../../services/ledger/state/cluster-state.ts";
import { blockedBy } from "../../../services/ledger/state/waiting-nodes.policy.ts";

const NOW = Date.UTC(2026, 0, 5, 12);
const HOLD = { policy: "gpu", field: "maxUnhealthy", untilAt: null, detail: "5 of 20 nodes are unhealthy", nodes: 1 };

function limitsOf(policy: string, body: Partial<BodyOf<"judged.limits">> = {}, publishedAt = NOW) {
  const memory = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
  const counts = { selected: 20, unhealthy: 5, condemned: 1, inWindow: 1 };
  const state = new ClusterState();
  const judged = { policy, ...counts, permits: [], holds: [{ ...HOLD, policy }], memory, ...body };
  state.limits.set(policy, { judged, publishedAt });
  return state.limits;
}

const waiting = { eviction: "toBeEvicted", policy: "gpu" } as const;

/** The limits of the cluster, beside those that a policy had until it lost them. */
function limitsLost() {
  const limits = limitsOf("gpu", {}, NOW - 20_000);
  for (const [name, record] of limitsOf("")) limits.set(name, record);
  return limits;
}

test.each([
  ["its policy", waiting, limitsOf("gpu"), "maxUnhealthy"],
  ["the cluster", { eviction: "toBeEvicted" }, limitsOf(""), "maxUnhealthy"],
  ["the cluster, where its policy has lost its own", waiting, limitsLost(), "maxUnhealthy"],
  ["another policy", waiting, limitsOf("spot"), undefined],
  ["its policy, but it is permitted", waiting, limitsOf("gpu", { permits: [{ node: "n", uid: "u" }] }), undefined],
  ["its policy, but it does not wait", { eviction: "evicted", policy: "gpu" }, limitsOf("gpu"), undefined],
  ["its policy, but long ago", waiting, limitsOf("gpu", {}, NOW - 15_000), undefined],
] as const)("a node is held back by the limits of %s", (_whose, judged, limits, field) => {
  expect(blockedBy({ name: "n" }, judged, limits, NOW)?.field).toBe(field);
});
