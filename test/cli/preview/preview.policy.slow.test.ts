/** What a preview reports of a node that was down before, and of pods that stay for long. */
import { expect, test } from "vitest";
import type { NodePolicySpec } from "../../../protocols/node-policy.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import type { BoundPod } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import { policiesInForce } from "../../../services/cli/preview/snapshot.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";

const TAKEN_AT = Date.UTC(2026, 0, 5, 12);
const DAY_S = 86_400;

/** What follows once node up-0 is down too; node down has the policy gpu, and has been Unknown for ten minutes. */
function previewedUnder(
  fields: Omit<NodePolicySpec, "selector">,
  others: readonly string[] = [],
  pods: readonly BoundPod[] = [],
) {
  const selector = { matchLabels: { pool: "gpu" } };
  const configured = [
    { name: "gpu", spec: { selector, ...fields } },
    ...others.map((name) => ({ name, spec: { selector } })),
  ];
  const policies = policiesInForce({ configured, resources: [] }, STANDARD_PROFILE);
  const sources = { configured, resources: [], freezes: null, policies };
  const takenAt = TAKEN_AT;
  const nodes = ["down", "up-0", "up-1", "up-2", "up-3"].map((name) => ({
    ...observedNode(name, name === "down" ? { ready: "Unknown", labels: { pool: "gpu" } } : { ready: "True" }),
    policyLabels: policies.labelsChecksum,
  }));
  const renewedAt = new Map(nodes.map(({ node }) => [node, node === "down" ? takenAt - 600_000 : takenAt]));
  const snapshot = { takenAt, nodes, renewedAt, pods, ...sources, budgets: [], unread: [] };
  const fault = { what: "up-0 is down", nodes: new Set(["up-0"]), taint: null };
  return previewOf(snapshot, fault, STANDARD_PROFILE);
}

test("a node that a limit holds back is reported with that limit", () => {
  const { nodes } = previewedUnder({ budgets: [{ nodes: 0 }] });
  const held = { unknownAfterMs: null, admittedAfterMs: null, heldBy: "budgets of gpu" };
  expect(nodes.find(({ node }) => node === "down")).toMatchObject(held);
});

test("a node that is admitted within the preview is not held back", () => {
  const { nodes } = previewedUnder({});
  expect(nodes.find(({ node }) => node === "down")).toMatchObject({
    heldBy: null,
    admittedAfterMs: expect.any(Number),
  });
});

test("a node that several policies select is reported with their names", () => {
  const { nodes } = previewedUnder({ budgets: [{ nodes: 0 }] }, ["other"]);
  const down = nodes.find(({ node }) => node === "down");
  expect(down).toMatchObject({ policy: null, conflict: ["gpu", "other"], heldBy: null });
  expect(nodes.find(({ node }) => node === "up-0")).not.toHaveProperty("conflict");
});

test("only nodes that were not down before are touched by the fault", () => {
  const { nodes } = previewedUnder({});
  expect(nodes.map(({ node, isDownAlready = false }) => [node, isDownAlready])).toEqual([
    ["down", true],
    ["up-0", false],
  ]);
});

/** The pods of these on node down, by name, under a policy of these fields. */
function previewedPods(fields: Omit<NodePolicySpec, "selector">, ...pods: readonly ObservedPod[]) {
  const bound = pods.map((pod) => ({ node: "down", resourceVersion: "1", pod }));
  return new Map(previewedUnder(fields, [], bound).pods.map((pod) => [pod.name, pod]));
}

const tolerating = (tolerationSeconds: number) => [{ operator: "Exists", effect: "NoExecute", tolerationSeconds }];

test("a countdown of a day ends as it is published", () => {
  const pods = previewedPods({}, observedPod("patient", { tolerations: tolerating(DAY_S) }));
  const { deletedAfterMs, why } = pods.get("patient") ?? {};
  expect(Math.abs((deletedAfterMs ?? 0) - DAY_S * 1000)).toBeLessThanOrEqual(1_000);
  expect(why).toBe(`does not tolerate node.kubernetes.io/unreachable:NoExecute for more than ${DAY_S} s`);
});

test("a rate may hold back a countdown of a day for longer", () => {
  const evictions = { maxPerMinute: 1 };
  const pods = previewedPods({ evictions }, observedPod("patient", { tolerations: tolerating(DAY_S) }));
  const { deletedAfterMs, earliestAfterMs, why } = pods.get("patient") ?? {};
  expect(earliestAfterMs).toBe(deletedAfterMs);
  expect(why).toMatch(/; later if the rate of its policy holds it back$/);
});

test("evictions of the minute before may delay pods that are due soon", () => {
  const pods = previewedPods({ evictions: { maxPerMinute: 1 } }, observedPod("web"));
  expect(pods.get("web")).toMatchObject({ deletedAfterMs: expect.any(Number), earliestAfterMs: expect.any(Number) });
  expect(pods.get("web")?.why).toContain("later if its policy evicted pods in the minute before");
});

test("the mirror of a static pod stays, whatever it tolerates", () => {
  const pods = previewedPods({}, observedPod("static", { mirror: true }));
  expect(pods.get("static")).toMatchObject({ deletedAfterMs: null, why: "mirrors a static pod" });
});

test("pods behind the first hundred of a rate wait for it too", () => {
  const names = Array.from({ length: 120 }, (_, index) => `pod-${index}`);
  const pods = previewedPods({ evictions: { maxPerMinute: 0 } }, ...names.map((name) => observedPod(name)));
  const reasons = new Set([...pods.values()].map(({ why }) => why));
  expect(reasons).toEqual(new Set(["held back by evictions.maxPerMinute of gpu"]));
});
