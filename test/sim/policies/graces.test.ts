/** A node has the grace that its own policy gave it, by everything that a process may know then. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { profileGrace } from "../graces.ts";
import { drawSwarm } from "../swarm.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { PolicyView } from "./policy-view.ts";
import { POOL_LABEL } from "./pools.ts";

const S = 1000;

/** The graces of a node of pool `a` some seconds after these policies were created, in seconds. */
function gracesAfter(seconds: number, specs: Readonly<Record<string, JsonObject>>): number[] {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1, { policies: true });
  if (drawn.policies === undefined) throw new Error("a run with policies has drawn them");
  const policies = { ...drawn.policies, isExact: true };
  const world = new World({ ...drawn, plot: null, zones: [], faults: new Set(), policies });
  world.clock.advance(S);
  const view = new PolicyView({ world, count: () => {} }, () => {});
  view.onNode({ metadata: { name: "n", uid: "u", labels: { [POOL_LABEL]: "a" } } }, false);
  world.clock.advance(60 * S);
  const [resource] = world.api.catalog.customAt(POLICIES_STORAGE);
  if (resource === undefined) throw new Error("the world serves NodePolicy");
  for (const [name, fields] of Object.entries(specs)) {
    const spec = { selector: { matchLabels: { [POOL_LABEL]: "a" } }, ...fields };
    const object = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name }, spec };
    world.asWorld(() => world.api.registry.create(resource, "", object));
  }
  world.clock.advance(seconds * S);
  const all = profileGrace(world.swarm.profile).monitorMs;
  return view.graces("n").map(({ monitorMs }) => (monitorMs === all ? 0 : monitorMs / S));
}

const PATIENT = { nodeMonitorGracePeriod: "61s" };

test("a process may not know a policy at first", () => {
  expect(gracesAfter(1, { a: PATIENT })).toEqual([0, 61]);
  expect(gracesAfter(10, { a: PATIENT })).toEqual([61]);
});

test("a policy without the field, and two policies, leave what holds for all", () => {
  expect(gracesAfter(10, { a: {} })).toEqual([0]);
  expect(gracesAfter(10, { a: PATIENT, b: { nodeMonitorGracePeriod: "20s" } })).toEqual([0]);
  expect(gracesAfter(10, { a: { nodeMonitorGracePeriod: "soon" } })).toEqual([0]);
});
