/** One request that the API server denies, as one that has just started does, delays nothing by more than a retry. */
import { expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { type CheckedNode, conditionOf } from "../sim/invariants.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const GRACE_S = 20;
const RETRY_S = 3;
const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };

test.each<[string, (call: Call) => boolean]>([
  ["the read of the lease", ({ verb, resource }) => verb === "get" && resource.plural === "leases"],
  ["the verdict", ({ verb, subresource }) => verb === "patch" && subresource === "status"],
  ["the NoSchedule taint", ({ verb, body }) => verb === "patch" && body?.includes(UNREACHABLE.effect) === true],
])("a node is Unknown and tainted in time though %s was denied once", (_what, when) => {
  const world = new EvictionWorld({ nodeMonitorGraceMs: GRACE_S * S, evictionMode: "direct" });
  world.addZone("a", 3);
  world.run();
  world.advance(60 * S);
  world.api.faults.add({ fault: { kind: "status", code: 403 }, times: 1, when });
  world.silence(["a-0"]);
  world.advance((GRACE_S + RETRY_S) * S);
  const node: CheckedNode = JSON.parse(JSON.stringify(world.read({ kind: "Node", namespace: "", name: "a-0" })));
  expect(conditionOf(node, "Ready")?.status).toBe("Unknown");
  expect(node.spec?.taints).toEqual([expect.objectContaining(UNREACHABLE)]);
});
