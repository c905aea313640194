/** Evictions under way while the policies change: what was read and decided by the earlier ones. */
import { describe, expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";
import { HandPolicies, type PolicyFields } from "../support/hand-policies.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
/** A field that needs another condition of each node than was kept so far. */
const HOLDS: PolicyFields = { maintenance: { hold: ["DrainInProgress"], atMost: "4h" } };
const isMark = ({ verb, name }: Call): boolean => verb === "patch" && name === "pod-0";
const isEviction = ({ subresource }: Call): boolean => subresource === "eviction";

interface Scene {
  readonly world: EvictionWorld;
  readonly policies: HandPolicies;
}

/** A node with one pod that tolerates no other taint. */
function untainted(before: PolicyFields | null): Scene {
  const world = new EvictionWorld();
  const policies = new HandPolicies(before);
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod-0");
  world.run({ policies });
  world.advance(10 * S);
  return { world, policies };
}

/** A pod whose eviction is under way: the first of these requests takes half a second, and half of that has passed. */
function evicting(isSlow: (call: Call) => boolean, before: PolicyFields | null = null): Scene {
  const { world, policies } = untainted(before);
  world.api.faults.add({ fault: { kind: "latency", answerMs: 500 }, when: isSlow, times: 1 });
  world.api.faults.add({ fault: { kind: "status", code: 500 }, when: isEviction });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(250);
  return { world, policies };
}

const outcomes = ({ world }: Scene) =>
  world
    .published("done.write")
    .filter(({ body }) => body.ask === "asked.eviction")
    .map(({ body: { outcome, detail } }) => [outcome, detail]);

describe("policies changed during a mark", () => {
  test("hold nothing back if they do not apply to it", () => {
    const scene = evicting(isMark);
    scene.policies.put(HOLDS);
    scene.world.advance(300);
    expect(outcomes(scene)).toEqual([["ok", ""]]);
    expect(scene.world.deleted).toHaveLength(1);
  });

  test("keep the pod when they freeze its node", () => {
    const scene = evicting(isMark);
    scene.policies.put({ ...HOLDS, mode: "Freeze" }, [{ fromAt: 0, toAt: null }]);
    scene.world.advance(60 * S);
    expect(outcomes(scene)[0]).toEqual(["refused", expect.stringContaining("NodePolicy pool: spec.mode (Freeze)")]);
    expect(scene.world.deleted).toEqual([]);
  });

  test.each([
    ["with new conditions", HOLDS],
    ["with no new condition", {}],
  ])("keep the pod if they permit none, %s", (_what, fields) => {
    const { world, policies } = evicting(isMark);
    policies.put({ ...fields, evictions: { maxPerMinute: 0 } });
    world.advance(60 * S);
    expect(world.deleted).toEqual([]);
  });

  test("keep the pod whose mark fails if they freeze it", () => {
    const { world, policies } = untainted(null);
    const startMs = world.clock.monotonicMs();
    const isLate = (call: Call): boolean => {
      if (!isMark(call)) return false;
      if (world.clock.monotonicMs() - startMs > 60 * S) policies.put(HOLDS, [{ fromAt: 0, toAt: null }]);
      return true;
    };
    world.api.faults.add({ fault: { kind: "status", code: 500 }, when: isLate });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(180 * S);
    expect(world.deleted).toEqual([]);
  });

  test("evict it by the method that they name", () => {
    const { world, policies } = evicting(isMark);
    policies.put({ evictions: { method: "Evict" } });
    world.advance(60 * S);
    expect(world.deleted).toEqual([]);
  });
});

describe("policies changed during a refusal", () => {
  const before: PolicyFields = { evictions: { method: "EvictThenDelete", deleteAfter: "0s" } };

  test("keep the pod when they never delete it", () => {
    const { world, policies } = evicting(isEviction, before);
    policies.put({ evictions: { method: "Evict" } });
    world.advance(60 * S);
    expect(world.deleted).toEqual([]);
  });

  test("keep the pod when they permit none", () => {
    const { world, policies } = evicting(isEviction, before);
    policies.put({ evictions: { ...before.evictions, maxPerMinute: 0 } });
    world.advance(60 * S);
    expect(world.deleted).toEqual([]);
  });

  test("delete it when they do so", () => {
    const { world, policies } = evicting(isEviction, before);
    policies.put({ ...HOLDS, ...before });
    world.advance(300);
    expect(world.deleted).toHaveLength(1);
  });

  test("keep the pod when they freeze its node", () => {
    const { world, policies } = evicting(isEviction, before);
    policies.put({ ...HOLDS, ...before, mode: "Freeze" }, [{ fromAt: 0, toAt: null }]);
    world.advance(60 * S);
    expect(world.deleted).toEqual([]);
  });
});
