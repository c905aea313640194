/** The object of a remediation has to go once its node is healthy. */
import { expect, test } from "vitest";
import type { StorageName } from "../../../services/sandbox/apiserver/resources.ts";
import { BrokenInvariant } from "../invariants.ts";
import { drawSwarm } from "../swarm.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { PolicyView, RECOVERY_MS } from "./policy-view.ts";
import { POOL_LABEL } from "./pools.ts";
import { RemediationChecks } from "./remediation-checks.ts";
import { REMEDIATION_STORAGES } from "./remediators.ts";

const S = 1000;
const BOUND_MS = 30 * S + RECOVERY_MS;

/** Checks a healthy node with the object of a remediation, under a policy, after a while. */
function healthyNode() {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1, { policies: true });
  if (drawn.policies === undefined) throw new Error("a run with policies has drawn them");
  const policies = { ...drawn.policies, isRemediating: true, isExact: true };
  const world = new World({ ...drawn, plot: null, zones: [], faults: new Set(), policies });
  // Until the definitions are served.
  world.clock.advance(S);
  const view = new PolicyView({ world, count: () => {} }, () => {});
  const checks = new RemediationChecks(view, () => {});
  const resourceOf = (storage: StorageName) => {
    const [found] = world.api.catalog.customAt(storage);
    if (found === undefined) throw new Error(`the world serves ${storage}`);
    return found;
  };
  const [storage] = REMEDIATION_STORAGES;
  if (storage === undefined) throw new Error("there are kinds of remediations");
  const spec = { selector: { matchLabels: { [POOL_LABEL]: "a" } } };
  const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "p" }, spec };
  const object = { apiVersion: "remedy.example.com/v1alpha1", kind: "Reboot", metadata: { name: "n" } };
  world.asWorld(() => world.api.registry.create(resourceOf(POLICIES_STORAGE), "", policy));
  world.asWorld(() => world.api.registry.create(resourceOf(storage), "default", object));
  view.onNode(
    {
      metadata: { name: "n", uid: "u", labels: { [POOL_LABEL]: "a" } },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    },
    false,
  );
  checks.look();
  return (ms: number) => {
    world.clock.advance(ms);
    return () => checks.look();
  };
}

test("the object of a healthy node is caught when it stays", () => {
  const lookAfter = healthyNode();
  expect(lookAfter(BOUND_MS)).not.toThrow();
  expect(lookAfter(S)).toThrow(BrokenInvariant);
});
