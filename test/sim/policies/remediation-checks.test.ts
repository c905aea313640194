/** The object of a remediation goes once its node is healthy, and proves it down only while it has succeeded. */
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

/** A world with the object of a remediation of node n, under a policy, and its checks. */
function stageOf(isExact: boolean) {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1, { policies: true });
  if (drawn.policies === undefined) throw new Error("a run with policies has drawn them");
  const policies = { ...drawn.policies, isRemediating: true, isExact };
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
  /** Sets the condition of the object. */
  const report = (status: string): void => {
    const at = { resource: resourceOf(storage), namespace: "default", name: "n" };
    const conditions = [{ type: "Succeeded", status }];
    world.asWorld(() => world.api.registry.update(at, "status", (was) => ({ ...was, status: { conditions } })));
  };
  return { world, view, checks, report };
}

/** Checks a healthy node with the object of a remediation after a while. */
function healthyNode() {
  const { world, view, checks } = stageOf(true);
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

test.each([
  ["at once", true, 3 * S],
  ["where requests are slow", false, 20 * S],
])("a proof by a success that was withdrawn is caught: %s", (_where, isExact, tooLateMs) => {
  const { world, checks, report } = stageOf(isExact);
  const silent = {
    metadata: { name: "n", uid: "u" },
    status: { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime: "2000-01-01T00:00:00Z" }] },
  };
  const proved = { ...silent, metadata: { ...silent.metadata, annotations: { "vigil.v1/proved-down": "{}" } } };
  const prove = () => checks.wrote(silent, proved);
  expect(prove).toThrow("by no remediation of this silence");
  report("True");
  expect(prove).not.toThrow();
  report("False");
  expect(prove).not.toThrow();
  world.clock.advance(tooLateMs);
  expect(prove).toThrow("by no remediation of this silence");
});
