/** The status of a NodePolicy object: its conditions, its numbers, and when nothing has to be written. */
import { describe, expect, test } from "vitest";
import { type PolicyActivity, type PolicyNodes, statusChange } from "../../services/policy/policy-status.policy.ts";
import { resolvedPolicies } from "../../services/policy/resolved-policies.policy.ts";

const NOW = Date.UTC(2026, 0, 31, 12);
const RIGHT = { selector: { matchLabels: { "node-restriction.kubernetes.io/pool": "gpu" } } };
const NODES = { nodes: 5, unhealthy: 1, conflict: null, limits: null, hasBreaker: false, ceiling: null, freeze: null };

function changeOf(spec: unknown, found: PolicyNodes & PolicyActivity = NODES, status?: unknown, nowAt = NOW) {
  const object = { name: "gpu", uid: "u", resourceVersion: "1", generation: 7, spec, status, changedAt: null };
  const [policy] = resolvedPolicies([], [object]);
  if (policy === undefined) throw new Error("there is no policy");
  return statusChange(object, policy, found, nowAt) as { conditions: Record<string, string>[] } | null;
}

const brief = (change: ReturnType<typeof changeOf>) =>
  change?.conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const message = (change: ReturnType<typeof changeOf>, type: string) =>
  change?.conditions.find((condition) => condition.type === type)?.message;

describe("the status of a policy", () => {
  test("has the numbers of its nodes and is ready", () => {
    const change = changeOf(RIGHT);
    expect(change).toMatchObject({ observedGeneration: 7, nodes: 5, unhealthy: 1 });
    expect(brief(change)).toEqual([
      "Ready=True InForce",
      "FieldsAccepted=True Accepted",
      "SelectorConflict=False NoConflict",
    ]);
  });

  test("names every field that has no effect", () => {
    const change = changeOf({ ...RIGHT, unhealthyZoneThreshold: 2, healthyDelay: "soon" });
    expect(brief(change)).toContain("FieldsAccepted=False Invalid");
    expect(message(change, "FieldsAccepted")).toBe(
      "spec.unhealthyZoneThreshold: 2: write 1 or less; " +
        'spec.healthyDelay: "soon": write a duration such as 90s or 1m30s',
    );
  });

  test("names the labels of its selector that a kubelet may set", () => {
    const matchExpressions = [{ key: "example.com/spot", operator: "Exists" }];
    const change = changeOf({ selector: { ...RIGHT.selector, matchExpressions } });
    expect(brief(change)).toContain("SelectorGuarded=False KubeletLabels");
    expect(message(change, "SelectorGuarded")).toContain(
      "a kubelet may set example.com/spot on its own node; select by",
    );
  });

  test("is not ready without a selector", () => expect(brief(changeOf({}))).toContain("Ready=False Refused"));

  test("names a node that another policy selects too", () => {
    const conflict = { count: 3, node: "n-1", others: ["spot"] };
    expect(message(changeOf(RIGHT, { ...NODES, conflict }), "SelectorConflict")).toBe(
      "node n-1 and 2 more: also selected by spot; neither applies there",
    );
  });

  test("says whether its remediations work", () => {
    const found = (remediations: PolicyNodes["remediations"]) => changeOf(RIGHT, { ...NODES, remediations });
    expect(brief(found(undefined))).toHaveLength(3);
    expect(brief(found(null))).toContain("RemediationsReady=True TemplatesFound");
    const problem = { reason: "TemplateNotFound", message: "there is no such template" } as const;
    expect(brief(found(problem))).toContain("RemediationsReady=False TemplateNotFound");
    expect(message(found(problem), "RemediationsReady")).toBe("there is no such template");
  });

  test("says which memory cannot be written", () => {
    const unwritten = ["the memory of freezes cannot be written: forbidden"];
    const change = changeOf(RIGHT, { ...NODES, unwritten });
    expect(brief(change)).toContain("MemoryWritten=False WriteFailed");
    expect(message(change, "MemoryWritten")).toBe(unwritten[0]);
  });

  test("has what its limits do", () => {
    const memory = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
    const limits = { condemned: 3, inWindow: 4, budget: 5, permits: [{ node: "n-1", uid: "u" }], memory };
    expect(changeOf(RIGHT, { ...NODES, limits })).toMatchObject({ condemned: 3, budgetLeft: 2, breaker: null });
    const closed = { ...NODES, limits, hasBreaker: true };
    expect(changeOf(RIGHT, closed)).toMatchObject({ recentlyCondemned: 4, breaker: "Closed", breakerResetTime: null });
    const tripped = { ...memory, trippedAt: NOW - 1000, resetAt: NOW + 60_000 };
    const open = { ...closed, limits: { ...limits, budget: 2, memory: tripped } };
    const resets = { breaker: "Open", breakerResetTime: "2026-01-31T12:01:00Z", budgetLeft: 0 };
    expect(changeOf(RIGHT, open)).toMatchObject(resets);
    expect(changeOf(RIGHT, open, changeOf(RIGHT, open))).toBeNull();
    expect(changeOf(RIGHT, open, changeOf(RIGHT, open), NOW + 60_000)).toMatchObject({ breakerResetTime: null });
  });

  test("says who freezes its nodes, and takes that away", () => {
    const causes = ["alice", "mode Freeze"].map((by) => ({ policy: "gpu", by, reason: null }));
    const frozen = changeOf(RIGHT, { ...NODES, freeze: { sinceAt: NOW, untilAt: NOW + 60_000, causes } });
    expect(frozen).toMatchObject({ frozenBy: "alice, mode Freeze", frozenUntil: "2026-01-31T12:01:00Z" });
    expect(changeOf(RIGHT, NODES, frozen)).toMatchObject({ frozenBy: null, frozenUntil: null });
  });

  test("is not written again while it is the same", () => {
    expect(changeOf(RIGHT, NODES, changeOf(RIGHT), NOW + 60_000)).toBeNull();
  });

  test("has the time of the last transition", () => {
    const before = changeOf(RIGHT);
    const same = changeOf(RIGHT, { ...NODES, nodes: 6 }, before, NOW + 60_000);
    expect(same?.conditions[0]?.lastTransitionTime).toBe("2026-01-31T12:00:00Z");
    const worse = changeOf({}, NODES, before, NOW + 60_000);
    expect(worse?.conditions[0]?.lastTransitionTime).toBe("2026-01-31T12:01:00Z");
  });
});
