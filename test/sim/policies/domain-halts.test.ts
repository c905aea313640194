/** After a halt a node has its full grace again, from the end that the owner of its own disruption domain announced. */
import { expect, test } from "vitest";
import { judgedZone } from "../../ledger/ledger-world.ts";
import { message } from "../checks.stage.ts";
import { Checks } from "../checks.ts";
import { drawSwarm } from "../swarm.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { PolicyChecks } from "./checks.ts";
import { POOL_LABEL } from "./pools.ts";

const S = 1000;

/** Finds a node of policy `a` silent a millisecond before a full grace has passed since the end of a halt. */
function verdictAfter(domain: "" | "\0@a", rates: { readonly nodeEvictionRate?: number }): () => void {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1, { policies: true });
  if (drawn.policies === undefined) throw new Error("a run with policies has drawn them");
  const policies = { ...drawn.policies, isExact: true };
  const world = new World({ ...drawn, plot: null, zones: [], faults: new Set(), policies });
  // Until the definitions are served.
  world.clock.advance(S);
  const ofPolicies = new PolicyChecks({ world, count: () => {} });
  const [resource] = world.api.catalog.customAt(POLICIES_STORAGE);
  if (resource === undefined) throw new Error("the world serves NodePolicy");
  const spec = { selector: { matchLabels: { [POOL_LABEL]: "a" } }, ...rates };
  const object = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "a" }, spec };
  world.asWorld(() => world.api.registry.create(resource, "", object));
  const checks = new Checks({ world, processes: () => [], isDrawn: true, policies: ofPolicies.view });
  const metadata = { name: "n", uid: "u", labels: { [POOL_LABEL]: "a" } };
  const node = { metadata, status: { conditions: [{ type: "Ready", status: "True" }] } };
  ofPolicies.node(node, false);
  checks.node(null, node, false);
  world.clock.advance(60 * S);
  for (const halted of [true, false]) {
    checks.verdicts.hear(message("judged.zone", judgedZone({ zone: domain, halted })), "p1");
  }
  world.clock.advance(world.swarm.profile.nodeMonitorGraceMs - 1);
  const unknown = { type: "Ready", status: "Unknown" as const, reason: "", message: "", heartbeatAt: null };
  const basis = { leaseRenewedAt: null, statusHeartbeatAt: null };
  const body = { node: "n", uid: "u", resourceVersion: "1", basis, conditions: [unknown] };
  return () => checks.verdicts.check(message("asked.condition", body), "p1", "0");
}

test.each([
  ["of its policy, which sets a rate", "\0@a", { nodeEvictionRate: 1 }],
  ["of its zone, as its policy sets none", "", {}],
] as const)("a verdict within a grace of a halt is caught: %s", (_what, domain, rates) => {
  expect(verdictAfter(domain, rates)).toThrow("after a halt");
});

test.each([
  ["of the zone, where its policy sets a rate", "", { nodeEvictionRate: 1 }],
  ["of a policy that sets none", "\0@a", {}],
] as const)("a verdict within a grace of another halt is right: %s", (_what, domain, rates) => {
  expect(verdictAfter(domain, rates)).not.toThrow();
});
