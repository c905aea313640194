/** The order of a preview: what happens first comes first, and by name what happens at one instant. */
import { expect, test } from "vitest";
import { NO_POLICIES } from "../../../protocols/policy-set.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";

const TAKEN_AT = Date.UTC(2026, 0, 5, 12);
const FOR_EVER = [{ operator: "Exists" }];

test("nodes and pods come in the order in which they go, then by name", () => {
  const nodes = ["up", "n-2", "n-1"].map((name) => observedNode(name, { ready: "True" }));
  const pods = ["b", "a", "stays"].map((name) => {
    const pod = observedPod(name, { uid: name, tolerations: name === "stays" ? FOR_EVER : [] });
    return { node: "n-1", resourceVersion: "1", pod };
  });
  const renewedAt = new Map([
    ["up", TAKEN_AT],
    ["n-2", TAKEN_AT],
    ["n-1", TAKEN_AT - 5_000],
  ]);
  const read = { takenAt: TAKEN_AT, nodes, renewedAt, pods, resources: [], freezes: null, unread: [] };
  const snapshot = { ...read, configured: [], policies: NO_POLICIES, budgets: [] };
  const fault = { what: "they are down", nodes: new Set(["n-1", "n-2"]), taint: null };
  const preview = previewOf(snapshot, fault, STANDARD_PROFILE);
  expect(preview.nodes.map(({ node }) => node)).toEqual(["n-1", "n-2"]);
  expect(preview.pods.map(({ name }) => name)).toEqual(["a", "b", "stays"]);
});
