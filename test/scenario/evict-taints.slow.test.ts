/** Scenarios of NoExecute taints, ours and foreign, on virtual time, with and without a crash of Vigil. */
import { describe, expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import type { ServiceName } from "../../protocols/ports.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { HandPolicies } from "../support/hand-policies.ts";

const S = 1000;
const lives: [string, (world: EvictionWorld, forMs: number) => void][] = [
  ["without a restart", (world, forMs) => world.advance(forMs)],
  ["killed and restarted on the way", (world, forMs) => world.crash(forMs)],
];
const exists = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

/** A cluster of `size` nodes under Vigil, 10 s old. */
function cluster(size: number): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", size);
  world.run();
  world.advance(10 * S);
  return world;
}

describe.each(lives)("%s", (_what, pass) => {
  test("a foreign NoExecute taint evicts at once, when tolerated time ends, or never", () => {
    const world = cluster(50);
    for (let index = 0; index < 50; index++) {
      world.addTolerantPod(`a-${index}`, `now-${index}`);
      world.addTolerantPod(`a-${index}`, `later-${index}`, [exists("maintenance", 60)]);
      world.addTolerantPod(`a-${index}`, `never-${index}`, [exists("maintenance")]);
    }
    const taintedMs = world.clock.monotonicMs();
    for (let index = 0; index < 50; index++) world.taint(`a-${index}`, [MAINTENANCE]);
    world.advance(0);
    const of = (prefix: string) => world.deleted.filter(({ name }) => name.startsWith(prefix));
    expect(of("now-")).toHaveLength(50);
    expect(of("now-").every(({ atMs }) => atMs === taintedMs)).toBe(true);
    world.advance(20 * S);
    pass(world, 5 * S);
    world.advance(taintedMs + 60 * S - 1 - world.clock.monotonicMs());
    expect(of("later-")).toEqual([]);
    world.advance(1);
    expect(of("later-")).toHaveLength(50);
    world.advance(600 * S);
    expect(world.deleted).toHaveLength(100);
    expect(of("never-")).toEqual([]);
  });

  test("a taint without timeAdded is dated by an annotation and removed with it", () => {
    const world = cluster(3);
    world.addTolerantPod("a-0", "pod", [exists("maintenance", 60)]);
    world.addTolerantPod("a-1", "patient", [exists("maintenance")]);
    const taintedMs = world.clock.monotonicMs();
    world.taint("a-0", [MAINTENANCE]);
    world.taint("a-1", [MAINTENANCE]);
    world.advance(1 * S);
    const written = { "maintenance:NoExecute": "2026-01-01T00:00:10.000000Z" };
    expect(world.records("a-0")).toEqual({ "vigil.v1/taints-seen": JSON.stringify(written) });
    expect(world.records("a-1")).toEqual({});
    expect(world.node("a-0").spec.taints).toEqual([MAINTENANCE]);
    pass(world, 30 * S);
    world.advance(40 * S);
    expect(world.deletedAt("pod")).toBe(taintedMs + 60 * S);
    world.taint("a-0", []);
    pass(world, 1 * S);
    world.advance(1 * S);
    expect(world.records("a-0")).toEqual({});
  });

  test("each row of the tolerations table goes as it says (17.4)", () => {
    const world = cluster(3);
    const k1 = { key: "k1", effect: "NoExecute", timeAdded: "2026-01-01T00:00:15Z" };
    const k2 = { key: "k2", value: "v", effect: "NoExecute", timeAdded: "2026-01-01T00:00:20Z" };
    const rows: [name: string, tolerations: Toleration[], endMs: number | undefined][] = [
      ["none", [], 15 * S],
      ["zero", [exists("k1", 0), exists("k2")], 15 * S],
      ["negative", [exists("k1", -5), exists("k2")], 15 * S],
      ["first", [exists("k1", 20), exists("k1"), exists("k2")], 35 * S],
      ["forever-first", [exists("k1"), exists("k1", 20), exists("k2")], undefined],
      ["least", [exists("k1"), exists("k2", 60)], 80 * S],
      ["each-its-own", [exists("k1", 100), exists("k2", 90)], 110 * S],
      ["any-key", [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 }], 45 * S],
      ["by-value", [exists("k1"), { key: "k2", value: "v" }], undefined],
      ["other-value", [exists("k1"), { key: "k2", operator: "Equal", value: "w" }], 20 * S],
      ["other-effect", [exists("k1"), { key: "k2", operator: "Exists", effect: "NoSchedule" }], 20 * S],
    ];
    for (const [name, tolerations] of rows) world.addTolerantPod("a-0", name, tolerations);
    world.advance(5 * S);
    world.taint("a-0", [k1]);
    world.advance(5 * S);
    world.taint("a-0", [k1, k2]);
    world.advance(8 * S);
    pass(world, 4 * S);
    world.advance(300 * S);
    expect(rows.map(([name]) => [name, world.deletedAt(name)])).toEqual(rows.map(([name, , endMs]) => [name, endMs]));
  });

  test("a pod bound to a node that is tainted already counts from its binding", () => {
    const world = cluster(3);
    world.taint("a-0", [{ ...MAINTENANCE, timeAdded: "2026-01-01T00:00:00Z" }]);
    world.advance(90 * S);
    world.addTolerantPod("a-0", "late", [exists("maintenance", 60)]);
    const boundMs = world.clock.monotonicMs();
    world.advance(10 * S);
    pass(world, 5 * S);
    world.advance(300 * S);
    expect(world.deletedAt("late")).toBe(boundMs + 60 * S);
  });

  test("a changed toleration moves the deadline either way, or cancels it (L22)", () => {
    const world = cluster(3);
    const pods = ["shorter", "longer", "for-ever", "gone"];
    for (const name of pods) world.addTolerantPod("a-0", name, [exists("maintenance", 100)]);
    world.taint("a-0", [{ ...MAINTENANCE, timeAdded: "2026-01-01T00:00:10Z" }]);
    world.advance(20 * S);
    const edit = (name: string, tolerations: Toleration[]) =>
      world.patch({ kind: "Pod", namespace: "default", name }, { spec: { tolerations } });
    // The API only lets tolerations be added: the first ones count first.
    edit("shorter", [exists("maintenance", 40), exists("maintenance", 100)]);
    edit("longer", [exists("maintenance", 200), exists("maintenance", 100)]);
    edit("for-ever", [exists("maintenance"), exists("maintenance", 100)]);
    pass(world, 5 * S);
    world.advance(400 * S);
    expect(pods.map((name) => world.deletedAt(name))).toEqual([50 * S, 210 * S, undefined, 110 * S]);
  });
});

test("the removal of the last NoExecute taint publishes cancelled countdowns (R8.12)", () => {
  const world = cluster(3);
  world.addTolerantPod("a-0", "pod", [exists("maintenance", 60)]);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(30 * S);
  world.taint("a-0", []);
  world.advance(300 * S);
  expect(world.deleted).toEqual([]);
  expect(world.published("judged.pod").map(({ body }) => body.eviction)).toEqual(["pending", "none"]);
});

test("a deleted node ends its countdowns (L25)", () => {
  const world = cluster(3);
  world.addTolerantPod("a-0", "pod", [exists("maintenance", 60)]);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name: "a-0" }, urgency: 0 });
  world.advance(300 * S);
  expect(world.published("asked.eviction")).toEqual([]);
  expect(world.published("judged.pod").at(-1)?.body.eviction).toBe("none");
});

test("the countdown of a pod that someone else deletes ends without an eviction", () => {
  const world = cluster(3);
  world.addTolerantPod("a-0", "pod", [exists("maintenance", 60)]);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(30 * S);
  world.write({ verb: "delete", ref: { kind: "Pod", namespace: "default", name: "pod" }, urgency: 0 });
  world.advance(300 * S);
  expect(world.published("asked.eviction")).toEqual([]);
  expect(world.published("judged.pod").map(({ body }) => body.eviction)).toEqual(["pending", "none"]);
});

test("an eviction that was carried out is never published as cancelled (L28)", () => {
  const world = cluster(3);
  world.addTolerantPod("a-0", "pod", [exists("maintenance", 60)]);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(60 * S);
  world.taint("a-0", []);
  world.advance(300 * S);
  expect(world.published("judged.pod").map(({ body }) => body.eviction)).toEqual(["pending", "due"]);
});

test("the same observation twice moves no deadline and publishes nothing (P10)", () => {
  const world = cluster(3);
  world.addTolerantPod("a-0", "pod", [exists("maintenance", 60)]);
  const taintedMs = world.clock.monotonicMs();
  world.taint("a-0", [MAINTENANCE]);
  world.advance(20 * S);
  const labels = { touched: "yes" };
  world.patch({ kind: "Node", namespace: "", name: "a-0" }, { metadata: { labels } });
  world.patch({ kind: "Pod", namespace: "default", name: "pod" }, { metadata: { labels } });
  world.api.faults.compact();
  world.api.faults.cutWatches({ how: "break" });
  world.advance(300 * S);
  expect(world.deletedAt("pod")).toBe(taintedMs + 60 * S);
  expect(world.published("judged.pod")).toHaveLength(2);
});

test("a writer that does not know the policies evicts no pod", () => {
  const world = new EvictionWorld();
  world.addZone("a", 1);
  world.addTolerantPod("a-0", "web");
  const only = (...names: readonly ServiceName[]) =>
    Object.fromEntries(Object.entries(EVICTING).filter(([name]) => names.includes(name as ServiceName)));
  const ignorant = new HandPolicies();
  ignorant.forget();
  world.start(only("observer", "node", "zone", "taint-manager"), { policies: new HandPolicies() });
  world.start(only("node-writer", "pod-writer"), { policies: ignorant });
  world.advance(30 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(60 * S);
  expect(world.published("asked.eviction").length).toBeGreaterThan(0);
  expect(world.deleted).toEqual([]);
});
