/** The zone service among other processes: when it is silent, announcements, contradictions, takeovers. */
import { describe, expect, test } from "vitest";
import type { Profile } from "../../protocols/profile.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { announcementTimeoutMs } from "../../services/zone/repetition.policy.ts";
import { zoneService } from "../../services/zone/zone.service.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { loseObserved } from "../support/lossy-transport.ts";
import { judgedNode } from "../support/observed-objects.ts";

const S = 1000;
const { zone: _zone, ...OTHERS } = EVICTING;
const ZONE_A = "r:\u0000:a";
const ZONE_B = "r:\u0000:b";

/** Two zones of three nodes. Each zone has its own process, and a third process runs everything else. */
function splitWorld(profile: Partial<Profile> = {}) {
  const world = new EvictionWorld(profile);
  const nodes = { a: world.addZone("a", 3), b: world.addZone("b", 3) };
  world.start(OTHERS, { member: "rest" });
  const own = (member: string, zone: string) => {
    const fleet = new HandFleet(member);
    fleet.set("zone", shardOf(zone), true);
    return { fleet, process: world.start({ zone: zoneService }, { member, fleet }) };
  };
  const owners = { a: own("zone-a", ZONE_A), b: own("zone-b", ZONE_B) };
  world.advance(30 * S);
  return { world, nodes, owners };
}

const stateOf = (world: EvictionWorld, zone: string) =>
  world.published("judged.zone").findLast(({ body }) => body.zone === zone)?.body;

describe("a zone actor is silent", () => {
  test("while no node is judged", () => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    const { observer } = EVICTING;
    world.start({ ...(observer === undefined ? {} : { observer }), zone: zoneService });
    world.advance(30 * S);
    expect(world.published("judged.zone")).toEqual([]);
  });

  test("while nothing is observed, with one resync per shard", () => {
    const world = new EvictionWorld();
    world.start({ zone: zoneService });
    world.advance(30 * S);
    expect(world.published("judged.zone")).toEqual([]);
    expect(world.published("asked.resync").length).toBeLessThanOrEqual(SHARD_COUNT);
  });

  test("once no observer pulsed for its timeout; it grants none", () => {
    const world = new EvictionWorld();
    const { observer, ...rest } = EVICTING;
    const nodes = world.addZone("a", 8);
    world.start(rest, { member: "rest" });
    const observing = world.start(observer === undefined ? {} : { observer }, { member: "observer" });
    world.advance(30 * S);
    world.silence(nodes.slice(0, 4));
    world.advance(52 * S);
    observing.kill();
    world.advance(world.profile.pulseTimeoutMs);
    const [granted, announced] = [world.tainted.length, world.published("judged.zone").length];
    expect(granted).toBeLessThan(4);
    world.advance(120 * S);
    expect([world.tainted.length, world.published("judged.zone").length]).toEqual([granted, announced]);
  });
});

describe("zones of two owners", () => {
  test("halt together when both are down (R6.10)", () => {
    const { world, nodes } = splitWorld();
    world.silence([...nodes.a, ...nodes.b]);
    world.advance(60 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ halted: true });
    expect(stateOf(world, ZONE_B)).toMatchObject({ halted: true });
    world.advance(300 * S);
    expect(world.taints("a-0")).not.toContain("node.kubernetes.io/unreachable:NoExecute");
  });

  test("are repeated every 5 s while they are well", () => {
    const { world, nodes } = splitWorld({ pulsePeriodMs: 1 * S, pulseTimeoutMs: 4 * S });
    const times = (ms: number): readonly number[] => {
      const before = world.published("judged.zone").length;
      world.advance(ms);
      const since = world.published("judged.zone").slice(before);
      return [ZONE_A, ZONE_B].map((zone) => since.filter(({ body }) => body.zone === zone).length);
    };
    world.advance(30 * S);
    expect(times(60 * S)).toEqual([12, 12]);
    world.silence(nodes.a.slice(0, 1));
    world.advance(60 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "Normal", notReady: 1 });
    expect(times(60 * S)).toEqual([12, 12]);
    world.silence(nodes.a);
    world.advance(60 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "FullDisruption" });
    expect(times(60 * S)[0]).toBeGreaterThanOrEqual(60);
    expect(times(60 * S)[1]).toBe(12);
  });

  test("correct another owner with the next pulse", () => {
    const { world } = splitWorld({ pulsePeriodMs: 1 * S, pulseTimeoutMs: 4 * S });
    world.advance(30 * S);
    const own = world.published("judged.zone").findLast(({ body }) => body.zone === ZONE_A)?.body;
    if (own === undefined) throw new Error("zone a was not announced");
    world.busOf("zone", "other").publish("judged.zone", { ...own, state: "FullDisruption" }, null);
    world.advance(1 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "Normal" });
  });

  test("grant and remove nothing while one is not announced", () => {
    const { world, nodes, owners } = splitWorld();
    world.silence(nodes.a);
    world.advance(52 * S);
    expect(world.tainted).toHaveLength(1);
    owners.b.process.kill();
    world.advance(announcementTimeoutMs(world.profile));
    const granted = world.tainted.length;
    world.advance(120 * S);
    expect(world.tainted).toHaveLength(granted);
    expect(world.healed).toEqual([]);
    expect(stateOf(world, ZONE_A)).toMatchObject({ halted: false, state: "FullDisruption" });
  });

  test("keep their rate when another process takes one over", () => {
    const { world, nodes, owners } = splitWorld();
    world.silence(nodes.a.slice(0, 2));
    world.advance(51 * S);
    expect(world.tainted).toHaveLength(1);
    const grantedMs = world.tainted[0]?.atMs ?? 0;
    owners.a.fleet.set("zone", shardOf(ZONE_A), false);
    owners.b.fleet.set("zone", shardOf(ZONE_A), true);
    world.advance(30 * S);
    const [, second] = world.tainted;
    expect(second?.atMs).toBeGreaterThanOrEqual(grantedMs + 10 * S - 1);
    expect(second?.atMs).toBeLessThanOrEqual(grantedMs + 11 * S + 1);
    const sources = world.published("judged.zone").filter(({ body }) => body.zone === ZONE_A);
    expect(sources.at(-1)?.source).toBe("zone@zone-b");
  });
});

describe("a zone taken over", () => {
  const hand = ({ owners }: ReturnType<typeof splitWorld>, zone: string) => {
    owners.a.fleet.set("zone", shardOf(zone), false);
    owners.b.fleet.set("zone", shardOf(zone), true);
  };

  test("keeps its state and beginning when the owners change at once", () => {
    const split = splitWorld();
    const { world, nodes } = split;
    world.silence(nodes.a);
    world.advance(60 * S);
    const { since } = stateOf(world, ZONE_A) ?? {};
    hand(split, ZONE_A);
    world.advance(60 * S);
    expect(world.published("judged.zone").findLast(({ body }) => body.zone === ZONE_A)?.source).toBe("zone@zone-b");
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "FullDisruption", since });
  });

  test("keeps them when no process has owned it for a while", () => {
    const { world, owners } = splitWorld();
    const { since } = stateOf(world, ZONE_A) ?? {};
    owners.a.process.kill();
    world.advance(60 * S);
    owners.b.fleet.set("zone", shardOf(ZONE_A), true);
    world.advance(10 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "Normal", since });
  });

  test("gets a new beginning if its state has changed by then", () => {
    const { world, nodes, owners } = splitWorld();
    owners.a.process.kill();
    world.silence(nodes.a);
    world.advance(60 * S);
    const takenOverAt = world.clock.wallMs();
    owners.b.fleet.set("zone", shardOf(ZONE_A), true);
    world.advance(10 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "FullDisruption", since: takenOverAt });
  });

  test("stays halted until another zone is known to be up", () => {
    const { world, nodes, owners } = splitWorld();
    const heirs = ["c", "d"].map((name) => {
      const fleet = new HandFleet(`zone-${name}`);
      world.start({ zone: zoneService }, { member: fleet.member, fleet });
      return fleet;
    });
    world.silence([...nodes.a, ...nodes.b]);
    world.advance(60 * S);
    const { since } = stateOf(world, ZONE_A) ?? {};
    owners.a.process.kill();
    owners.b.process.kill();
    world.advance(60 * S);
    heirs[0]?.set("zone", shardOf(ZONE_A), true);
    world.advance(60 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "FullDisruption", halted: true, since });
    heirs[1]?.set("zone", shardOf(ZONE_B), true);
    world.advance(10 * S);
    expect(stateOf(world, ZONE_A)).toMatchObject({ state: "FullDisruption", halted: true, since });
  });
});

test("a judgement that contradicts the API for long is requested again", () => {
  const world = new EvictionWorld();
  const [healthy = ""] = world.addZone("a", 6);
  world.run();
  world.advance(20 * S);
  const { uid } = world.node(healthy).metadata;
  const wrong = { uid, zone: ZONE_A, readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted" } as const;
  world.busOf("node", "foreign").publish("judged.node", judgedNode(healthy, wrong), null);
  world.advance(1 * S);
  expect(stateOf(world, ZONE_A)).toMatchObject({ notReady: 1, queueLength: 0 });
  world.advance(20 * S);
  expect(stateOf(world, ZONE_A)).toMatchObject({ notReady: 0 });
  expect(world.tainted).toEqual([]);
});

test("so is one that names another disruption domain of the same zone", () => {
  const selector = {
    matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In" as const, values: ["a"] }],
  };
  const world = new EvictionWorld({}, [{ name: "pool", spec: { selector, nodeEvictionRate: 1 } }]);
  const [moved = ""] = world.addZone("a", 6);
  world.run();
  world.advance(20 * S);
  const domain = `${ZONE_A}\u0000@pool`;
  expect(stateOf(world, domain)).toMatchObject({ size: 6 });
  const { uid } = world.node(moved).metadata;
  world.busOf("node", "foreign").publish("judged.node", judgedNode(moved, { uid, zone: ZONE_A }), null);
  world.advance(1 * S);
  expect(stateOf(world, domain)).toMatchObject({ size: 5 });
  world.advance(20 * S);
  expect(stateOf(world, domain)).toMatchObject({ size: 6 });
});

test("a waiting node is tainted even if a later judgement of it was lost", () => {
  const world = new EvictionWorld();
  const [first = "", second = ""] = world.addZone("a", 6);
  world.run();
  world.advance(20 * S);
  world.silence([first, second]);
  world.advance(55 * S);
  const [waiting = ""] = [first, second].filter((name) => world.taintedAt(name) === undefined);
  const { uid } = world.node(waiting).metadata;
  const old = { uid, zone: ZONE_A, readiness: "unknown", ready: "Unknown", eviction: "evicted" } as const;
  world.busOf("node", "foreign").publish("judged.node", judgedNode(waiting, old), null);
  world.advance(1 * S);
  expect(stateOf(world, ZONE_A)).toMatchObject({ notReady: 2, queueLength: 0 });
  world.advance(60 * S);
  expect(world.taintedAt(waiting)).toBeGreaterThan(0);
});

test("a zone that lost its last node unseen is announced as empty after the resync", () => {
  const world = new EvictionWorld();
  const [last = ""] = world.addZone("a", 1);
  const [unseen = ""] = world.addZone("b", 3);
  world.run();
  world.advance(20 * S);
  const find = loseObserved(world.transport, ({ shard }) => shard === shardOf(unseen));
  world.advance(20 * S);
  world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name: last }, urgency: 0 });
  world.advance(9 * S);
  expect(stateOf(world, ZONE_A)).toMatchObject({ size: 1 });
  find();
  world.advance(60 * S);
  expect(stateOf(world, ZONE_A)).toMatchObject({ size: 0, state: "Initial" });
});

test("a node without a judgement delays only its own zone", () => {
  const world = new EvictionWorld();
  const nodes = { a: world.addZone("a", 3), b: world.addZone("b", 3), c: world.addZone("c", 3) };
  world.run();
  world.advance(20 * S);
  const [unjudged = "", silent = ""] = nodes.b;
  world.busOf("node", "other").publish("judged.node", judgedNode(unjudged, { uid: "another", zone: ZONE_B }), null);
  world.silence([...nodes.a.slice(0, 1), silent]);
  world.advance(3 * S);
  const times = (zone: string) => world.published("judged.zone").filter(({ body }) => body.zone === zone).length;
  const [a, b] = [times(ZONE_A), times(ZONE_B)];
  world.advance(5 * S);
  expect(times(ZONE_A)).toBeGreaterThan(a);
  expect(times(ZONE_B)).toBe(b);
});

test("a zone's counts are those of its counted nodes (P13)", () => {
  const world = new EvictionWorld();
  const nodes = world.addZone("a", 10);
  world.addZone("b", 2);
  world.run();
  for (const [down, name] of nodes.entries()) {
    expect(stateOf(world, ZONE_A)).toMatchObject({ size: 10, notReady: down });
    world.kubelet(name).report("Ready", "False");
    world.advance(0);
  }
  expect(stateOf(world, ZONE_A)).toMatchObject({ size: 10, notReady: 10, state: "FullDisruption" });
});

test("a stopped service leaves no timer and no subscription", () => {
  const world = new EvictionWorld();
  const nodes = world.addZone("a", 6);
  const others = world.start(OTHERS, { member: "rest" });
  const zones = world.start({ zone: zoneService }, { member: "zone" });
  world.advance(30 * S);
  world.silence(nodes.slice(0, 3));
  world.advance(60 * S);
  others.kill();
  const before = world.clock.pendingTimers;
  zones.kill();
  expect(world.clock.pendingTimers).toBeLessThan(before);
  const received = world.received.length;
  world.advance(60 * S);
  expect(world.received.slice(received).filter(({ source }) => source.startsWith("zone@"))).toEqual([]);
});
