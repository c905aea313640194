/** A node that was read live follows the policies: their label keys and condition types decide what is kept of it. */
import { expect, test } from "vitest";
import { policyOf } from "../../../services/domain/node-policy.ts";
import { liveNode } from "../../../services/platform/kube/watch/projection.ts";
import { HandPolicies } from "../../support/hand-policies.ts";

const NODE = {
  metadata: { name: "n", uid: "u", resourceVersion: "1", labels: { "topology.kubernetes.io/zone": "a" } },
  status: { conditions: [{ type: "DrainInProgress", status: "True" }] },
};

test("its policy is known by policies that came after the read", () => {
  const policies = new HandPolicies();
  const node = liveNode(NODE, policies);
  const before = node?.();
  expect(node?.()).toBe(before);
  policies.put({ maintenance: { hold: ["DrainInProgress"], atMost: "4h" } });
  const after = node?.();
  expect(before?.conditions).toEqual([]);
  expect(after?.conditions).toMatchObject([{ type: "DrainInProgress", status: "True" }]);
  expect(after === undefined ? null : policyOf(after, policies.current()).kind).toBe("policy");
});

test("there is none of an object that is no valid Node", () => {
  expect(liveNode({ ...NODE, metadata: { name: "n" } }, new HandPolicies())).toBeNull();
});
