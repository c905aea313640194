/**
 * The NoSchedule taint of a flapping node may go early only where its owner may have seen a transition late. It stays
 * for longer only where a process that has started cannot know for how long its node has been ready.
 */
import { describe, expect, test } from "vitest";
import { apiTime } from "../../../services/domain/api-time.ts";
import { BrokenInvariant, type CheckedNode } from "../invariants.ts";
import { drawSwarm } from "../swarm.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { HoldChecks } from "./hold-checks.ts";
import { PolicyView } from "./policy-view.ts";
import { POOL_LABEL } from "./pools.ts";

const S = 1000;
const TAINT = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };

function nodeWith(status: "True" | "Unknown", taints: readonly (typeof TAINT)[]): CheckedNode {
  return {
    metadata: { name: "n", uid: "u", labels: { [POOL_LABEL]: "a" } },
    spec: { taints },
    status: { conditions: [{ type: "Ready", status }] },
  };
}

/** A run with a policy for the node, exact or with watches that lag. */
function runWith(setting: Record<string, unknown>, watchLagMs: number | null = null) {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1, { policies: true });
  if (drawn.policies === undefined) throw new Error("a run with policies has drawn them");
  const policies = { ...drawn.policies, isExact: watchLagMs === null, isSplit: watchLagMs !== null, isChaos: false };
  const hindrance = watchLagMs === null ? {} : { hindrance: { watchLagMs } };
  const world = new World({ ...drawn, ...hindrance, plot: null, zones: [], faults: new Set(), policies });
  // Until the definitions are served.
  world.clock.advance(S);
  const view = new PolicyView({ world, count: () => {} }, () => {});
  const checks = new HoldChecks(view);
  const [resource] = world.api.catalog.customAt(POLICIES_STORAGE);
  if (resource === undefined) throw new Error("the world serves policies");
  const spec = { selector: { matchLabels: { [POOL_LABEL]: "a" } }, ...setting };
  const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "p" }, spec };
  world.asWorld(() => world.api.registry.create(resource, "", policy));
  const show = (node: CheckedNode, forMs: number): void => {
    view.onNode(node, false);
    checks.node(node, false);
    world.clock.advance(forMs);
  };
  return { world, view, checks, show };
}

/** Removes the taint from a node some time after its second transition. */
function healAfter(downMs: number, readyMs: number, watchLagMs: number | null) {
  const flapping = { transitions: 2, window: "60s", holdDown: "20s" };
  const { checks, show } = runWith({ flapping }, watchLagMs);
  show(nodeWith("True", []), 200 * S);
  show(nodeWith("Unknown", [TAINT]), downMs);
  show(nodeWith("True", [TAINT]), readyMs);
  return () => checks.wrote(nodeWith("True", [TAINT]), nodeWith("True", []));
}

describe("a flapping node's taint", () => {
  test("stays where nothing is late", () => {
    expect(healAfter(58 * S, 6 * S, null)).toThrow(BrokenInvariant);
    expect(healAfter(61 * S, 6 * S, null)).not.toThrow();
  });

  test("may go where its owner may have seen it Ready too late", () => {
    expect(healAfter(54 * S, 6 * S, 4 * S)).not.toThrow();
    expect(healAfter(52 * S, 6 * S, 4 * S)).toThrow(BrokenInvariant);
  });

  test("stays at first, as it cannot have been seen later", () => {
    expect(healAfter(58 * S, S / 10, 4 * S)).toThrow(BrokenInvariant);
  });
});

/** Looks at a ready node that keeps its taint for so long after a start, which was so long after its last post. */
function lookAfter(postedMs: number, startedMs: number, keptMs: number) {
  const { world, view, checks, show } = runWith({ healthyDelay: "50s" });
  show(nodeWith("Unknown", [TAINT]), 60 * S);
  const lastTransitionTime = apiTime(world.clock.wallMs());
  const post = (forMs: number): void => {
    const ready = {
      type: "Ready",
      status: "True",
      lastTransitionTime,
      lastHeartbeatTime: apiTime(world.clock.wallMs()),
    };
    show({ ...nodeWith("True", [TAINT]), status: { conditions: [ready] } }, forMs);
  };
  post(postedMs);
  post(startedMs);
  view.disturbances.push(world.clock.wallMs());
  world.clock.advance(keptMs);
  return () => checks.look();
}

describe("the taint of a ready node that is found", () => {
  test("stays by the age at its last post", () => {
    expect(lookAfter(0, 40 * S, 75 * S)).not.toThrow();
    expect(lookAfter(0, 40 * S, 80 * S)).toThrow(BrokenInvariant);
    expect(lookAfter(30 * S, 10 * S, 45 * S)).not.toThrow();
    expect(lookAfter(30 * S, 10 * S, 50 * S)).toThrow(BrokenInvariant);
  });
});
