/** A breaker that holds readiness: many nodes that fall silent at once leave their pods in the Services. */
import { describe, expect, test } from "vitest";
import type { Profile } from "../../../protocols/profile.ts";
import { readinessBreakersOf } from "../../../services/domain/limited-policies.ts";
import { blocksMarks } from "../../../services/platform/node-policies/limit-blocks.ts";
import { listOf, recordOf } from "../../../services/structures/json.ts";
import { tripsByDown } from "../../../services/zone/limits/limits.policy.ts";
import { zoneService } from "../../../services/zone/zone.service.ts";
import { EVICTING } from "../../support/eviction-world.ts";
import { ExplainedWorld } from "../../support/explained-world.ts";

const S = 1000;
const MINUTE = 60 * S;
/** From the last heartbeat of a node to its verdict. */
const FOUND_MS = 60 * S;
const SELECTOR = { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: ["a", "b"] }] };
const HOLDS = ["Evictions", "Readiness"] as ("Evictions" | "Readiness")[];
const BREAKER = { maxNodes: 5, duration: "10m", resetAfter: "30m" };
const names = (zone: string, count: number) => Array.from({ length: count }, (_, index) => `${zone}-${index}`);

/** Sixty nodes in three zones, each with a pod, under a policy with this breaker or, with null, under no policy. */
function sixty(
  circuitBreaker: (typeof BREAKER & { readonly holds?: typeof HOLDS }) | null,
  profile: Partial<Profile> = {},
) {
  const selector = SELECTOR as { matchExpressions: [{ key: string; operator: "In"; values: string[] }] };
  const world = new ExplainedWorld(
    circuitBreaker === null ? [] : [{ name: "gpu", spec: { selector, circuitBreaker } }],
    profile,
  );
  for (const zone of ["a", "b", "c"]) {
    for (const node of world.addZone(zone, 20)) world.addTolerantPod(node, `pod-${node}`);
  }
  world.run();
  world.advance(30 * S);
  return world;
}

/** The nodes whose pod is marked not ready. */
function marked(world: ExplainedWorld): string[] {
  return ["a", "b", "c"]
    .flatMap((zone) => names(zone, 20))
    .filter((node) => {
      const status = recordOf(world.read({ kind: "Pod", namespace: "default", name: `pod-${node}` })?.status);
      const ready = listOf(status.conditions)
        .map(recordOf)
        .find(({ type }) => type === "Ready");
      return ready?.status === "False";
    });
}

describe("the rules", () => {
  test.each([
    [5, true, false],
    [6, true, true],
    [60, false, false],
  ])("%i nodes newly down trip a breaker of 5 that holds readiness (%s): %s", (down, isHolding, trips) => {
    const circuitBreaker = {
      percentage: null,
      nodesMax: 5,
      durationMs: 1,
      resetAfterMs: null,
      holdsReadiness: isHolding,
    };
    const limits = {
      circuitBreaker,
      maxUnhealthy: null,
      stormCooldownMs: null,
      secondaryPerSecond: 1,
      budgets: [],
      ceiling: null,
    };
    expect(tripsByDown(limits, { selected: 60, down })).toBe(trips);
  });

  test.each([
    ["open", { trippedAt: 1 }, { nodes: 1, newestAt: 10 }, true],
    ["closed, the node counted", { trippedAt: null }, { nodes: 1, newestAt: 10 }, false],
    ["closed, the node not counted yet", { trippedAt: null }, { nodes: 1, newestAt: 9 }, true],
    ["closed, no node counted yet", { trippedAt: null }, { nodes: 0, newestAt: null }, true],
    ["of an owner that does not count", { trippedAt: null }, undefined, true],
  ])("a breaker %s holds the marks: %s", (_what, tripped, down, isHeld) => {
    const memory = { ...tripped, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
    expect(blocksMarks({ memory, ...(down === undefined ? {} : { down }) }, 10)).toBe(isHeld);
  });

  test("beside upstream nobody counts, so nothing is held", () => {
    const cluster = { circuitBreakerNodesMax: 5, circuitBreakerPercentage: 0, circuitBreakerHolds: HOLDS.join() };
    expect(readinessBreakersOf(null, { ...cluster, upstream: "replace" })).toEqual([""]);
    expect(readinessBreakersOf(null, { ...cluster, upstream: "beside" })).toEqual([]);
  });
});

describe("when 57 of 60 nodes fall silent", () => {
  const silent = [...names("a", 20), ...names("b", 20), ...names("c", 17)];

  test("without it every pod of theirs is marked", () => {
    const world = sixty(BREAKER);
    world.silence(silent);
    world.advance(FOUND_MS);
    expect(marked(world)).toHaveLength(57);
  });

  test("with it pods under the policy stay", () => {
    const world = sixty({ ...BREAKER, holds: HOLDS });
    world.silence(silent);
    world.advance(FOUND_MS);
    const under = marked(world).filter((node) => !node.startsWith("c-"));
    expect(under.length).toBeLessThanOrEqual(5);
    expect(marked(world).length - under.length).toBe(17);
    world.advance(20 * MINUTE);
    expect(marked(world).filter((node) => !node.startsWith("c-"))).toEqual(under);
  });

  test("with the flag all pods stay", () => {
    const profile = { circuitBreakerNodesMax: 5, circuitBreakerHolds: "Evictions,Readiness" };
    const world = sixty(null, profile);
    world.silence(silent);
    world.advance(FOUND_MS);
    expect(marked(world).length).toBeLessThanOrEqual(5);
    expect(world.reader.explainNode("b-19")?.sentences.join(" ")).toMatch(
      /Its pods are not marked not ready until .*Z at the earliest: the circuit breaker of the cluster is open and /,
    );
  });

  test("explain and reports say until when", () => {
    const world = sixty({ ...BREAKER, holds: HOLDS });
    world.silence(silent);
    world.advance(FOUND_MS);
    const gpu = world.reader.policies()?.find(({ name }) => name === "gpu");
    expect(gpu?.breaker).toMatchObject({ state: "open", down: 40 });
    const at = new Date(gpu?.breaker?.resetAt ?? 0).toISOString().slice(0, 19);
    expect(world.reader.explainNode("b-19")?.sentences).toContain(
      `Its pods are not marked not ready until ${at}Z at the earliest: the circuit breaker of NodePolicy gpu is open and holds readiness.`,
    );
    const policy = world.reader.explainPolicy("gpu")?.sentences ?? [];
    expect(policy).toContain("Meanwhile the pods of its silent nodes are not marked not ready.");
    expect(policy.join(" ")).toContain("within 10m, reset after 30m, holds Evictions and Readiness");
  });

  test("a restart marks nothing, resetAfter all", () => {
    const world = sixty({ ...BREAKER, holds: HOLDS });
    world.silence(silent);
    world.advance(FOUND_MS);
    const before = marked(world).length;
    world.crash(5 * S);
    world.advance(5 * MINUTE);
    expect(marked(world)).toHaveLength(before);
    world.advance(30 * MINUTE);
    expect(marked(world)).toHaveLength(57);
  });
});

test("one silent node has its pods marked as soon as it is counted", () => {
  const world = sixty({ ...BREAKER, holds: HOLDS });
  world.silence(["a-0"]);
  world.advance(FOUND_MS);
  expect(marked(world)).toEqual(["a-0"]);
});

test("marks that were made before stay", () => {
  const world = sixty({ ...BREAKER, holds: HOLDS });
  world.silence(["a-0", "a-1"]);
  world.advance(FOUND_MS);
  world.silence(names("b", 20));
  world.advance(FOUND_MS);
  expect(marked(world)).toEqual(expect.arrayContaining(["a-0", "a-1"]));
  expect(marked(world).length).toBeLessThanOrEqual(5);
});

test("while nobody publishes the limits nothing is marked, and explain says so", () => {
  const world = new ExplainedWorld([], { circuitBreakerNodesMax: 5, circuitBreakerHolds: "Evictions,Readiness" });
  for (const node of world.addZone("a", 20)) world.addTolerantPod(node, `pod-${node}`);
  const { zone: _zone, ...rest } = EVICTING;
  world.start(rest, { member: "rest" });
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(FOUND_MS);
  expect(world.published("asked.unready")).toEqual([]);
  expect(world.reader.explainNode("a-0")?.sentences).toContain(
    "Its pods are not marked not ready until it is known whether the circuit breaker of the cluster, which holds readiness, is open.",
  );
  world.start({ zone: zoneService }, { member: "zones" });
  world.advance(MINUTE);
  expect(world.published("asked.unready").length).toBeGreaterThan(0);
});
