/** A breaker counts the nodes within its window that Vigil can know of after the window has changed. */
import { describe, expect, test } from "vitest";
import { BrokenInvariant, type CheckedNode } from "../invariants.ts";
import { drawSwarm } from "../swarm.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { LimitChecks } from "./limit-checks.ts";
import { PolicyView } from "./policy-view.ts";
import { POOL_LABEL } from "./pools.ts";

const S = 1000;
const TAINT = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
/** Breakers for one node. */
const SHORT = { maxNodes: 1, duration: "20s", resetAfter: "15s" };
const LONG = { ...SHORT, duration: "60s" };

function nodeWith(name: string, taints: readonly (typeof TAINT)[]): CheckedNode {
  return { metadata: { name, uid: name, labels: { [POOL_LABEL]: "a" } }, spec: { taints } };
}

/**
 * Admits a second node 45 s after the first one. Their policy had another breaker for the first 30 s. The first node is
 * healed after `healedMs`.
 */
function secondAfter(before: typeof SHORT | null, healedMs: number | null, evictionMode: "taint" | "direct" = "taint") {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1, { policies: true });
  if (drawn.policies === undefined) throw new Error("a run with policies has drawn them");
  const policies = { ...drawn.policies, isExact: true };
  const profile = { ...drawn.profile, evictionMode };
  const world = new World({ ...drawn, profile, plot: null, zones: [], faults: new Set(), policies });
  // Until the definitions are served.
  world.clock.advance(S);
  const view = new PolicyView({ world, count: () => {} }, () => {});
  const [resource] = world.api.catalog.customAt(POLICIES_STORAGE);
  if (resource === undefined) throw new Error("the world serves NodePolicy");
  const specWith = (breaker: typeof SHORT | null) => {
    return { selector: { matchLabels: { [POOL_LABEL]: "a" } }, ...(breaker && { circuitBreaker: breaker }) };
  };
  const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "p" } };
  world.asWorld(() => world.api.registry.create(resource, "", { ...policy, spec: specWith(before) }));
  world.clock.advance(10 * S);
  const admit = (node: string): void => {
    view.onNode(nodeWith(node, [TAINT]), false);
    view.drain(node);
    view.admitted.push({ node, pool: "a", zone: "z", atMs: view.nowMs, untilMs: null });
  };
  admit("first");
  world.clock.after(30 * S, () =>
    world.asWorld(() => {
      const place = { resource, namespace: "", name: "p" };
      world.api.registry.update(place, "main", (object) => ({ ...object, spec: specWith(LONG) }));
    }),
  );
  if (healedMs !== null) world.clock.after(healedMs, () => view.onNode(nodeWith("first", []), false));
  world.clock.advance(45 * S);
  admit("second");
  return () => new LimitChecks(view).check("p", "second");
}

describe("a second node in the window of a breaker", () => {
  test.each([
    ["the first one had left a shorter window and was healed", SHORT, 25 * S, "taint"],
    ["the first one was healed before there was a breaker", null, 25 * S, "taint"],
    ["the first one had left a shorter window in direct mode", SHORT, null, "direct"],
  ] as const)("is allowed where %s", (_what, before, healedMs, mode) => {
    expect(secondAfter(before, healedMs, mode)).not.toThrow();
  });

  test.each([
    ["the first one is still admitted", SHORT, null, "taint"],
    ["the first one was admitted before there was a breaker", null, null, "taint"],
    ["the first one was healed after the window had changed", SHORT, 35 * S, "taint"],
    ["the window has not changed", LONG, 25 * S, "taint"],
    ["the window has not changed in direct mode", LONG, null, "direct"],
  ] as const)("is caught where %s", (_what, before, healedMs, mode) => {
    expect(secondAfter(before, healedMs, mode)).toThrow(BrokenInvariant);
  });
});
