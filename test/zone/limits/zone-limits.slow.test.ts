/** The limits of node policies with all evicting services: over zones, processes, takeovers and restarts. */
import { expect, test } from "vitest";
import type { Profile } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { zoneService } from "../../../services/zone/zone.service.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandFleet } from "../../support/hand-fleet.ts";
import { HandPolicies } from "../../support/hand-policies.ts";

const S = 1000;
const MINUTE = 60 * S;
const { zone: _zone, ...OTHERS } = EVICTING;
/** The names of the nodes that carry a taint of ours now. */
const admitted = (world: EvictionWorld): string[] => {
  const healed = new Map(world.healed.map(({ name, atMs }) => [name, atMs]));
  return world.tainted.filter(({ name, atMs }) => (healed.get(name) ?? -1) < atMs).map(({ name }) => name);
};
const holds = (world: EvictionWorld) =>
  world
    .published("judged.limits")
    .at(-1)
    ?.body.holds.map(({ field, nodes }) => `${field} ${nodes}`);

/** Zones a, b and c; a and b are selected. The limits, and each zone, have a process of their own. */
function worldWith(policies: HandPolicies, size = 6, profile: Partial<Profile> = {}) {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, ...profile });
  const nodes = { a: world.addZone("a", size), b: world.addZone("b", size), c: world.addZone("c", size) };
  world.start(OTHERS, { member: "rest", policies });
  const zoneProcess = (member: string, owns: (shard: number) => boolean) => {
    const fleet = new HandFleet(member);
    const own = (isOwned: boolean) => {
      for (let shard = 0; shard < SHARD_COUNT; shard++) if (owns(shard)) fleet.set("zone", shard, isOwned);
    };
    own(true);
    return { fleet, own, process: world.start({ zone: zoneService }, { member, fleet, policies }) };
  };
  const limits = zoneProcess("limits", (shard) => shard === 0);
  const odd = zoneProcess("odd", (shard) => shard % 2 === 1);
  const even = zoneProcess("even", (shard) => shard % 2 === 0 && shard > 0);
  world.advance(30 * S);
  return { world, nodes, limits, odd, even, zoneProcess };
}

test("a budget counts the nodes of all zones, and what is healed makes room", () => {
  const { world } = worldWith(new HandPolicies({ budgets: [{ nodes: 2 }] }));
  world.silence(["a-0", "a-1", "b-0", "b-1", "c-0"]);
  world.advance(3 * MINUTE);
  const pool = admitted(world).filter((name) => !name.startsWith("c"));
  expect(pool).toHaveLength(2);
  expect(admitted(world)).toContain("c-0");
  expect(holds(world)).toEqual(["budgets 2"]);
  world.revive(pool.slice(0, 1));
  world.advance(MINUTE);
  expect(admitted(world).filter((name) => !name.startsWith("c"))).toHaveLength(2);
  expect(world.healed.map(({ name }) => name)).toEqual(pool.slice(0, 1));
});

test("a budget holds while the owner of the limits dies and another takes over", () => {
  const policies = new HandPolicies({ budgets: [{ nodes: 2 }] });
  const { world, limits, zoneProcess } = worldWith(policies);
  world.silence(["a-0", "a-1", "b-0", "b-1"]);
  while (admitted(world).length === 0) world.advance(100);
  limits.process.kill();
  zoneProcess("limits-2", (shard) => shard === 0);
  world.advance(5 * MINUTE);
  expect(admitted(world)).toHaveLength(2);
  expect(world.tainted).toHaveLength(2);
});

test("a budget that was taken away and given again counts the nodes that are admitted", () => {
  const policies = new HandPolicies({ budgets: [{ nodes: 1 }] });
  const { world } = worldWith(policies);
  world.silence(["a-0"]);
  world.advance(90 * S);
  policies.put(null);
  world.advance(10 * S);
  policies.put({ budgets: [{ nodes: 1 }] });
  world.silence(["a-1", "b-0"]);
  world.advance(3 * MINUTE);
  expect(admitted(world)).toEqual(["a-0"]);
  expect(world.published("judged.limits").at(-1)?.body).toMatchObject({ selected: 12, unhealthy: 3, condemned: 1 });
});

test("limits are repeated with each pulse after a change, and every 10 s at rest", () => {
  const policies = new HandPolicies({ budgets: [{ nodes: 1 }] });
  const { world } = worldWith(policies, 6, { pulsePeriodMs: 1 * S, pulseTimeoutMs: 3 * S });
  const times = (ms: number): number => {
    const before = world.published("judged.limits").length;
    world.advance(ms);
    return world.published("judged.limits").length - before;
  };
  world.advance(MINUTE);
  expect(times(MINUTE)).toBe(6);
  world.silence(["a-0", "a-1"]);
  world.advance(MINUTE);
  expect(holds(world)).toEqual(["budgets 1"]);
  expect(times(MINUTE)).toBeGreaterThanOrEqual(60);
});

test("above maxUnhealthy nobody new is tainted, and those tainted before heal", () => {
  const { world } = worldWith(new HandPolicies({ maxUnhealthy: 2 }));
  world.silence(["a-0"]);
  world.advance(90 * S);
  expect(admitted(world)).toEqual(["a-0"]);
  world.silence(["a-1", "b-0", "b-1"]);
  world.advance(5 * MINUTE);
  expect(admitted(world)).toEqual(["a-0"]);
  expect(holds(world)).toEqual(["maxUnhealthy 3"]);
  world.revive(["a-0", "a-1"]);
  world.advance(2 * MINUTE);
  expect(admitted(world).sort()).toEqual(["b-0", "b-1"]);
});

test("a breaker trips on the first node too many, stays open, and resets", () => {
  const circuitBreaker = { maxNodes: 2, duration: "5m", resetAfter: "20m" };
  const { world } = worldWith(new HandPolicies({ circuitBreaker }));
  world.silence(["a-0", "a-1", "b-0", "b-1", "b-2"]);
  world.advance(3 * MINUTE);
  expect(admitted(world)).toHaveLength(2);
  const { memory } = world.published("judged.limits").at(-1)?.body ?? {};
  const trippedAt = memory?.trippedAt ?? 0;
  expect(trippedAt).toBeGreaterThan(0);
  expect(memory?.resetAt).toBe(trippedAt + 20 * MINUTE);
  const openMs = trippedAt + 20 * MINUTE - world.clock.wallMs();
  world.advance(openMs - S);
  expect(admitted(world)).toHaveLength(2);
  world.advance(MINUTE);
  expect(admitted(world)).toHaveLength(4);
});

test("a breaker resets on time while no node needs it", () => {
  const circuitBreaker = { maxNodes: 1, duration: "1m", resetAfter: "10m" };
  const { world } = worldWith(new HandPolicies({ circuitBreaker }), 6, { pulsePeriodMs: 1 * S, pulseTimeoutMs: 3 * S });
  world.silence(["a-0", "b-0"]);
  world.advance(3 * MINUTE);
  world.revive(["a-0", "b-0"]);
  world.advance(2 * MINUTE);
  const last = () => world.published("judged.limits").at(-1)?.body.memory;
  const resetAt = last()?.resetAt ?? 0;
  expect(resetAt).toBeGreaterThan(world.clock.wallMs());
  world.advance(resetAt + world.profile.pulsePeriodMs - world.clock.wallMs());
  expect(last()).toMatchObject({ trippedAt: null, resetAt: null });
});

test("a breaker with a longer window counts nodes that are still admitted", () => {
  const policies = new HandPolicies({ circuitBreaker: { maxNodes: 1, duration: "20s", resetAfter: "15s" } });
  const { world } = worldWith(policies);
  world.silence(["a-0"]);
  world.advance(2 * MINUTE);
  expect(admitted(world)).toEqual(["a-0"]);
  policies.put({ circuitBreaker: { maxNodes: 1, duration: "10m", resetAfter: "20m" } });
  world.silence(["b-0"]);
  world.advance(5 * MINUTE);
  expect(admitted(world)).toEqual(["a-0"]);
  expect(holds(world)).toEqual(["circuitBreaker 1"]);
});

test("an open breaker stays open when another process takes over", () => {
  const circuitBreaker = { maxNodes: 1, duration: "2m", resetAfter: "20m" };
  const { world, limits, even } = worldWith(new HandPolicies({ circuitBreaker }));
  world.silence(["a-0", "b-0"]);
  world.advance(3 * MINUTE);
  const [first] = admitted(world);
  expect(admitted(world)).toHaveLength(1);
  limits.own(false);
  limits.process.kill();
  even.fleet.set("zone", 0, true);
  world.revive([first ?? ""]);
  world.advance(10 * MINUTE);
  expect(admitted(world)).toEqual([]);
  expect(world.published("judged.limits").at(-1)?.body.memory.trippedAt).toBeGreaterThan(0);
  world.advance(10 * MINUTE);
  expect(admitted(world)).toHaveLength(1);
});

test("after a storm nobody is tainted, then nodes at the secondary rate", () => {
  const policies = new HandPolicies({
    maxUnhealthy: 3,
    stormCooldownDuration: "10m",
    secondaryNodeEvictionRate: 0.01,
  });
  const { world } = worldWith(policies);
  world.silence(["a-0", "a-1", "b-0", "b-1"]);
  world.advance(2 * MINUTE);
  expect(admitted(world)).toEqual([]);
  world.revive(["b-1"]);
  const calmMs = world.clock.monotonicMs();
  world.advance(30 * MINUTE);
  const a = world.tainted.filter(({ name }) => name.startsWith("a")).map(({ atMs }) => atMs - calmMs);
  expect(a[0]).toBeGreaterThanOrEqual(10 * MINUTE);
  expect(a[0]).toBeLessThan(10.5 * MINUTE);
  expect((a[1] ?? 0) - (a[0] ?? 0)).toBeGreaterThanOrEqual(100 * S);
  expect((a[1] ?? 0) - (a[0] ?? 0)).toBeLessThan(110 * S);
});

test("while the policies are not known nobody is tainted, but nodes heal", () => {
  const policies = new HandPolicies();
  const { world } = worldWith(policies);
  world.silence(["a-0"]);
  world.advance(90 * S);
  expect(admitted(world)).toEqual(["a-0"]);
  policies.forget();
  world.silence(["b-0"]);
  world.revive(["a-0"]);
  world.advance(3 * MINUTE);
  expect(admitted(world)).toEqual([]);
  policies.put(null);
  world.advance(10 * S);
  expect(admitted(world)).toEqual(["b-0"]);
});

test("a cluster-wide breaker counts every node, with or without a policy", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, circuitBreakerNodesMax: 2 });
  world.addZone("a", 4);
  world.addZone("c", 4);
  world.start(EVICTING, { member: "vigil", policies: new HandPolicies({ budgets: [{ nodes: 1 }] }) });
  world.advance(30 * S);
  world.silence(["a-0", "a-1", "c-0", "c-1"]);
  world.advance(5 * MINUTE);
  expect(admitted(world)).toHaveLength(2);
  world.advance(25 * MINUTE);
  expect(admitted(world)).toHaveLength(2);
});

test("without limits no message about them is published", () => {
  const { world } = worldWith(new HandPolicies({ nodeEvictionRate: 1 }));
  world.silence(["a-0"]);
  world.advance(2 * MINUTE);
  expect(admitted(world)).toEqual(["a-0"]);
  expect(world.published("judged.limits")).toEqual([]);
});
