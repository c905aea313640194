/** What explain says while this process, or the one that decides, does not know the policy of a node. */
import { expect, test } from "vitest";
import { POLICY_UNKNOWN } from "../../../services/domain/freeze.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { judgedNode, judgedPod, ledgerWorld, podSentences, UNREACHABLE } from "../ledger-world.ts";

const NODE_UNKNOWN =
  "This process does not know the policy of the node yet, so it does nothing harmful to it; healing goes on.";
const POD_UNKNOWN = "Pod default/web stays until the policy of its node n-1 is known.";
const STANDING = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];

function worldUnder(policies: HandPolicies) {
  const world = ledgerWorld({ policies });
  const nodeSentences = (): readonly string[] => world.ledger.reader.explainNode("n-1")?.sentences ?? [];
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: STANDING }), null);
  world.receive(
    "judged.node",
    judgedNode("n-1", { readiness: "unknown", ready: "Unknown", eviction: "evicted" }),
    null,
  );
  return { ...world, nodeSentences };
}

test("a node whose policy is not known says so, until the policies arrive", () => {
  const policies = new HandPolicies();
  policies.forget();
  const { nodeSentences } = worldUnder(policies);
  expect(nodeSentences()).toContain(NODE_UNKNOWN);
  policies.put(null);
  expect(nodeSentences()).not.toContain(NODE_UNKNOWN);
});

test("so does a node that was observed without the labels that policies select by", () => {
  const policies = new HandPolicies({});
  const { nodeSentences, receive } = worldUnder(policies);
  expect(nodeSentences()).not.toContain(NODE_UNKNOWN);
  receive("observed.node", { ...observedNode("n-1", { ready: "Unknown", taints: STANDING }), policyLabels: 1 }, null);
  expect(nodeSentences()).toContain(NODE_UNKNOWN);
});

test("a pod is not called frozen while the policy of its node is not known", () => {
  const policies = new HandPolicies();
  policies.forget();
  const world = worldUnder(policies);
  const held = { field: POLICY_UNKNOWN, untilAt: null, remainingMs: 49_000 };
  world.receive("judged.pod", { ...judgedPod(), held }, null);
  expect(podSentences(world)[0]).toBe(POD_UNKNOWN);
  policies.put(null);
  expect(podSentences(world)[0]).toMatch(/ due to be deleted/);
});
