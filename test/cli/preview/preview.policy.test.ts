/** What a preview reports of a node that was down before, and waits to be admitted for eviction for all of it. */
import { expect, test } from "vitest";
import type { NodePolicySpec } from "../../../protocols/node-policy.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import { policiesInForce } from "../../../services/cli/preview/snapshot.ts";
import { observedNode } from "../../support/observed-objects.ts";

/** What follows once node up-0 is down too; node down has the policy gpu, and has been Unknown for ten minutes. */
function previewedUnder(fields: Omit<NodePolicySpec, "selector">, others: readonly string[] = []) {
  const selector = { matchLabels: { pool: "gpu" } };
  const configured = [
    { name: "gpu", spec: { selector, ...fields } },
    ...others.map((name) => ({ name, spec: { selector } })),
  ];
  const sources = { configured, resources: [], freezes: null };
  const takenAt = Date.UTC(2026, 0, 5, 12);
  const nodes = ["down", "up-0", "up-1", "up-2", "up-3"].map((name) => ({
    ...observedNode(name, name === "down" ? { ready: "Unknown", labels: { pool: "gpu" } } : { ready: "True" }),
    policyLabels: policiesInForce(sources, STANDARD_PROFILE).labelsChecksum,
  }));
  const renewedAt = new Map(nodes.map(({ node }) => [node, node === "down" ? takenAt - 600_000 : takenAt]));
  const snapshot = { takenAt, nodes, renewedAt, pods: [], ...sources, unread: [] };
  const fault = { kind: "down", what: "up-0 is down", nodes: new Set(["up-0"]) } as const;
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
