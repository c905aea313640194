/** Scenarios of disrupted zones on virtual time: rate, halt and recovery, with and without a crash of Vigil. */
import { describe, expect, test } from "vitest";
import { EvictionWorld, type Seen } from "../support/eviction-world.ts";

const S = 1000;
/** Nodes fall silent at 30 s; their silence is found here. */
const FOUND_MS = 80_001;
/** API stamps are cut to seconds: after a takeover one grant may be this much later, and none is earlier. */
const STAMP_MS = 1000;

const lives: [string, (world: EvictionWorld, forMs: number) => void][] = [
  ["without a restart", (world, forMs) => world.advance(forMs)],
  ["killed and restarted on the way", (world, forMs) => world.crash(forMs)],
];

/**
 * Zones of these sizes in which these numbers of nodes stopped sending heartbeats at 30 s and have just been found
 * silent.
 */
function disrupted(sizes: Readonly<Record<string, number>>, silent: Readonly<Record<string, number>>): EvictionWorld {
  const world = new EvictionWorld();
  for (const [zone, size] of Object.entries(sizes)) world.addZone(zone, size);
  world.run();
  world.advance(30 * S);
  for (const [zone, count] of Object.entries(silent)) world.silence(names(zone, count));
  world.advance(FOUND_MS - 30 * S);
  return world;
}

const names = (zone: string, count: number) => Array.from({ length: count }, (_, index) => `${zone}-${index}`);
const since = (seen: readonly Seen[], fromMs: number) => seen.map(({ atMs }) => atMs - fromMs);
const zoneState = (world: EvictionWorld, zone: string) =>
  world.published("judged.zone").findLast(({ body }) => body.zone === `r:\u0000:${zone}`)?.body;

describe.each(lives)("%s", (_what, pass) => {
  test("a zone that is all down is tainted at once, then every 10 s (R6.4, 17.2)", () => {
    const world = disrupted({ a: 4, b: 4 }, { a: 4 });
    expect(zoneState(world, "a")).toMatchObject({ state: "FullDisruption", halted: false, size: 4, notReady: 4 });
    expect(since(world.tainted, FOUND_MS)).toEqual([0]);
    world.advance(12 * S);
    pass(world, 4 * S);
    world.advance(60 * S);
    const [first = 0, second = 0, third = 0, fourth = 0] = since(world.tainted, FOUND_MS);
    expect([first, Math.round(second)]).toEqual([0, 10 * S]);
    expect(third - second).toBeGreaterThanOrEqual(10 * S - 1);
    expect(third - second).toBeLessThanOrEqual(10 * S + STAMP_MS + 1);
    expect(Math.round(fourth - third)).toBe(10 * S);
    expect(world.tainted).toHaveLength(4);
  });

  test("a small disrupted zone is tainted one rate after it recovers (R6.5, R7.11)", () => {
    const world = disrupted({ a: 5, b: 3 }, { a: 3 });
    expect(zoneState(world, "a")).toMatchObject({ state: "PartialDisruption", taintsPerSecond: 0, queueLength: 3 });
    pass(world, 100 * S);
    world.advance(200 * S);
    expect(world.tainted).toEqual([]);
    world.revive(["a-0"]);
    const normalMs = world.clock.monotonicMs();
    world.advance(60 * S);
    expect(zoneState(world, "a")).toMatchObject({ state: "Normal" });
    expect(since(world.tainted, normalMs).map(Math.round)).toEqual([10 * S, 20 * S]);
  });

  test("a large disrupted zone is tainted at the secondary rate (R6.5, 17.1)", () => {
    const world = disrupted({ a: 51, b: 3 }, { a: 29 });
    expect(zoneState(world, "a")).toMatchObject({ state: "PartialDisruption", taintsPerSecond: Math.fround(0.01) });
    pass(world, 30 * S);
    world.advance(240 * S);
    const [first = 0, second = 0, third = 0] = since(world.tainted, FOUND_MS);
    expect(first).toBe(0);
    expect(second).toBeGreaterThanOrEqual(100 * S - 1);
    expect(second).toBeLessThanOrEqual(100 * S + STAMP_MS + 1);
    expect(third - second).toBeGreaterThanOrEqual(100 * S - 1);
    expect(world.tainted).toHaveLength(3);
  });

  test("when every zone is down taints are removed and none is granted (R6.10, P6)", () => {
    const world = disrupted({ a: 3, b: 3 }, { a: 3 });
    world.addTolerantPod("a-0", "pod");
    world.advance(25 * S);
    expect(world.tainted.map(({ name }) => name)).toHaveLength(3);
    world.silence(names("b", 3));
    world.advance(51 * S);
    expect(zoneState(world, "a")).toMatchObject({ state: "FullDisruption", halted: true, taintsPerSecond: 0 });
    expect(zoneState(world, "b")).toMatchObject({ state: "FullDisruption", halted: true });
    expect(world.healed).toHaveLength(3);
    pass(world, 60 * S);
    world.advance(600 * S);
    expect(world.tainted).toHaveLength(3);
    expect(world.deleted).toEqual([]);
  });

  test("after every zone was down the queue goes on one rate later (R6.11, R6.16)", () => {
    const world = disrupted({ a: 3, b: 3 }, { a: 3, b: 3 });
    expect(world.tainted).toEqual([]);
    pass(world, 60 * S);
    world.advance(100 * S);
    world.revive(names("b", 3));
    const leftMs = world.clock.monotonicMs();
    world.advance(60 * S);
    expect(zoneState(world, "a")).toMatchObject({ state: "FullDisruption", halted: false });
    expect(zoneState(world, "b")).toMatchObject({ state: "Normal", notReady: 0 });
    expect(since(world.tainted, leftMs).map(Math.round)).toEqual([10 * S, 20 * S, 30 * S]);
  });

  test("a lone zone of unlabelled nodes halts (R6.14), and its key is empty (R2.3)", () => {
    const world = new EvictionWorld();
    const nodes = world.addZone("n", 4, null);
    world.run();
    world.advance(30 * S);
    world.silence(nodes);
    pass(world, 10 * S);
    world.advance(300 * S);
    expect(world.published("judged.zone").at(-1)?.body).toMatchObject({
      zone: "",
      state: "FullDisruption",
      halted: true,
    });
    expect(world.tainted).toEqual([]);
    world.revive(["n-0", "n-1"]);
    world.advance(100 * S);
    expect(world.tainted.map(({ name }) => name).sort()).toEqual(["n-2", "n-3"]);
  });

  test("an excluded node counts in no zone and is tainted like any other", () => {
    const world = new EvictionWorld();
    const exclusion = { "node.kubernetes.io/exclude-disruption": "" };
    world.addZone("a", 3);
    world.addZone("b", 3);
    const zone = { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a" };
    world.register("a-excluded", { ...zone, ...exclusion });
    world.register("a-healthy", { ...zone, ...exclusion });
    world.run();
    world.advance(30 * S);
    world.silence([...names("a", 3), "a-excluded"]);
    world.advance(60 * S);
    expect(zoneState(world, "a")).toMatchObject({ state: "FullDisruption", size: 3, notReady: 3 });
    pass(world, 1 * S);
    world.advance(60 * S);
    expect(world.tainted.map(({ name }) => name).sort()).toEqual(["a-0", "a-1", "a-2", "a-excluded"]);
  });

  test("nodes with old and with new zone labels share one zone and rate (R2.1, R2.2)", () => {
    const world = new EvictionWorld();
    const beta = "failure-domain.beta.kubernetes.io";
    const stable = "topology.kubernetes.io";
    world.register("old", { [`${beta}/region`]: "r", [`${beta}/zone`]: "a" });
    world.register("mixed", { [`${beta}/zone`]: "a", [`${stable}/region`]: "r", [`${stable}/zone`]: "other" });
    for (const name of ["new-0", "new-1", "new-2"]) {
      world.register(name, { [`${stable}/region`]: "r", [`${stable}/zone`]: "a" });
    }
    world.run();
    world.advance(30 * S);
    world.silence(["old", "mixed"]);
    world.advance(FOUND_MS - 30 * S);
    expect(zoneState(world, "a")).toMatchObject({ state: "Normal", size: 5, notReady: 2 });
    pass(world, 1 * S);
    world.advance(30 * S);
    const [first = 0, second = 0] = since(world.tainted, FOUND_MS);
    expect(first).toBe(0);
    expect(second).toBeGreaterThanOrEqual(10 * S - 1);
    expect(new Set(world.published("judged.zone").map(({ body }) => body.zone))).toEqual(new Set(["r:\u0000:a"]));
  });
});

test("when a halt ends every node gets its full grace again (R6.11, R6.17)", () => {
  const world = disrupted({ a: 2 }, { a: 2 });
  world.register("x", { "node.kubernetes.io/exclude-disruption": "" });
  world.advance(20 * S);
  expect(zoneState(world, "a")).toMatchObject({ halted: true });
  const silentMs = world.clock.monotonicMs();
  world.silence(["x"]);
  world.advance(30 * S);
  world.revive(["a-0", "a-1"]);
  world.advance(silentMs + 79 * S - world.clock.monotonicMs());
  expect(world.conditions("x")).toContain("Ready=True");
  world.advance(2 * S);
  expect(world.conditions("x")).toContain("Ready=Unknown");
});

test("two owners that disagree about a zone's halt delay no verdict", () => {
  const world = disrupted({ a: 3, b: 3 }, {});
  const ghost = world.busOf("zone", "ghost");
  const announced = world.published("judged.zone").findLast(({ body }) => body.zone === "r:\u0000:a")?.body;
  if (announced === undefined) throw new Error("the zone was not announced");
  world.silence(["a-0"]);
  const silentMs = world.clock.monotonicMs();
  while (world.clock.monotonicMs() < silentMs + 50 * S) {
    ghost.publish("judged.zone", { ...announced, state: "FullDisruption", halted: true }, null);
    world.advance(1 * S);
  }
  world.advance(1);
  expect(world.conditions("a-0")).toContain("Ready=Unknown");
});

test.each(lives)("a node that moves to another zone is tainted at that zone's rate, %s (L8)", (_what, pass) => {
  const world = disrupted({ a: 6, b: 6 }, { a: 3 });
  expect(world.tainted).toHaveLength(1);
  const [waiting = ""] = names("a", 3).filter((name) => name !== world.tainted[0]?.name);
  pass(world, 1 * S);
  const labels = { "topology.kubernetes.io/zone": "b" };
  world.patch({ kind: "Node", namespace: "", name: waiting }, { metadata: { labels } });
  const movedMs = world.clock.monotonicMs();
  world.advance(0);
  expect(world.taintedAt(waiting)).toBe(movedMs);
  expect(zoneState(world, "a")).toMatchObject({ size: 5, notReady: 2, queueLength: 1 });
  expect(zoneState(world, "b")).toMatchObject({ size: 7, notReady: 1, queueLength: 0 });
  world.advance(60 * S);
  expect(world.tainted).toHaveLength(3);
});

test("an empty zone is published once and then forgotten, but its rate holds (L9)", () => {
  const world = disrupted({ a: 2, b: 3 }, { a: 2 });
  expect(world.tainted).toHaveLength(1);
  for (const name of names("a", 2))
    world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name }, urgency: 0 });
  world.advance(1);
  expect(zoneState(world, "a")).toMatchObject({ state: "Initial", size: 0, queueLength: 0 });
  world.register("a-9", { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a" });
  world.kubelet("a-9").report("Ready", "False");
  world.advance(5 * S);
  expect(world.taintedAt("a-9")).toBeUndefined();
  world.advance(10 * S);
  expect(world.taintedAt("a-9")).toBeGreaterThanOrEqual(FOUND_MS + 10 * S - 1);
  world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name: "a-9" }, urgency: 0 });
  world.advance(60 * S);
  const publishedBefore = world.published("judged.zone").filter(({ body }) => body.zone.endsWith("a")).length;
  world.advance(60 * S);
  expect(world.published("judged.zone").filter(({ body }) => body.zone.endsWith("a"))).toHaveLength(publishedBefore);
});

test("a grant for a node that proves Ready is returned once the watch shows it", () => {
  const world = disrupted({ a: 8, b: 3 }, { a: 3 });
  const unknown = world
    .published("observed.node")
    .filter(({ body }) => JSON.stringify(body.conditions).includes("Unknown"));
  const [first = "", second = "", third = ""] = new Set(unknown.map(({ body }) => body.node));
  expect(world.tainted.map(({ name }) => name)).toEqual([first]);
  // The API shows the second node as Ready again, but the watch is late: only the writer's own read shows it.
  const heard = world.api.faults.silenceWatches("nodes");
  world.revive([second]);
  world.advance(10 * S + 1);
  const outcomes = world
    .published("done.write")
    .filter(({ body }) => body.node === second && body.outcome === "refused");
  expect(outcomes.map(({ body }) => body.ask)).toContain("asked.taint");
  expect(world.taints(second)).not.toContain("node.kubernetes.io/unreachable:NoExecute");
  expect(world.taints(third)).not.toContain("node.kubernetes.io/unreachable:NoExecute");
  heard();
  world.revive([second]);
  world.advance(3 * S);
  expect(world.taints(third)).toContain("node.kubernetes.io/unreachable:NoExecute");
});
