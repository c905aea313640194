/** Shadow mode: nothing is written, and everything continues as if it had been, until the API shows otherwise. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

/** Six nodes with a pod each, 30 s old, under Vigil in shadow mode. */
function shadowWorld(profile: ConstructorParameters<typeof EvictionWorld>[0] = {}): EvictionWorld {
  const world = new EvictionWorld(profile);
  for (const node of world.addZone("a", 6)) world.addTolerantPod(node, `pod-${node}`);
  world.start(EVICTING, { isShadow: true });
  world.advance(30 * S);
  return world;
}

/** The outcomes published of requests of a type about a node. */
function outcomesOf(world: EvictionWorld, node: string, ask: string): string[] {
  const about = world.published("done.write").filter(({ body }) => body.node === node && body.ask === ask);
  return about.map(({ body }) => `${body.outcome} ${body.change}`);
}

const UNKNOWN = "shadowed conditions: Ready=Unknown MemoryPressure=Unknown DiskPressure=Unknown PIDPressure=Unknown";

test("a verdict is published once per silence, however long the node is silent", () => {
  const world = shadowWorld();
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(outcomesOf(world, "a-0", "asked.condition")).toEqual([UNKNOWN]);
  world.revive(["a-0"]);
  world.advance(5 * S);
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(outcomesOf(world, "a-0", "asked.condition")).toEqual([UNKNOWN, UNKNOWN]);
});

test("a verdict that the API never shows causes no resync", () => {
  const world = shadowWorld();
  world.silence(["a-0"]);
  const silencedMs = world.clock.monotonicMs();
  world.advance(600 * S);
  expect(world.published("asked.resync").filter(({ atMs }) => atMs > silencedMs)).toEqual([]);
});

test("taints and labels that are never written are published once per change", () => {
  const world = shadowWorld();
  world.advance(300 * S);
  const healing = "shadowed taints: -node.kubernetes.io/not-ready:NoSchedule";
  expect(outcomesOf(world, "a-0", "asked.taint")).toEqual([healing]);
  world.kubelet("a-0").report("MemoryPressure", "True");
  world.advance(300 * S);
  const pressure = "shadowed taints: +node.kubernetes.io/memory-pressure:NoSchedule";
  expect(outcomesOf(world, "a-0", "asked.taint")).toEqual([healing, pressure]);
  world.kubelet("a-0").report("MemoryPressure", "False");
  world.advance(300 * S);
  expect(outcomesOf(world, "a-0", "asked.taint")).toEqual([
    healing,
    pressure,
    "shadowed taints: -node.kubernetes.io/memory-pressure:NoSchedule",
  ]);
});

test("an eviction by a taint is published once, and again when the taint is set again", () => {
  const world = shadowWorld();
  world.taint("a-0", [MAINTENANCE]);
  world.advance(600 * S);
  const deleted = "shadowed deleted: maintenance:NoExecute";
  expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([deleted]);
  world.taint("a-0", []);
  world.advance(300 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(600 * S);
  expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([deleted, deleted]);
});

test("a drain and the marking of its pods are published once", () => {
  const world = shadowWorld({ evictionMode: "direct", podEvictionTimeoutMs: 30 * S });
  world.silence(["a-0"]);
  world.kubelet("a-0").report("Ready", "Unknown");
  world.advance(600 * S);
  expect(outcomesOf(world, "a-0", "asked.unready")).toEqual(["shadowed Ready=False"]);
  expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual(["shadowed deleted: node a-0 is lost"]);
});

/** When a request of a type about a node was first shadowed, and the last of them, in seconds after an instant. */
function shadowedAtS(world: EvictionWorld, ask: string, node: string, fromMs: number): number[] {
  const about = world.published("done.write").filter(({ body }) => body.node === node && body.ask === ask);
  return about.map(({ atMs }) => Math.round((atMs - fromMs) / S));
}

function lastNode(world: EvictionWorld, node: string): BodyOf<"observed.node"> | undefined {
  return world.published("observed.node").findLast(({ body }) => body.node === node)?.body;
}

describe("a silent node in shadow mode", () => {
  test("would be tainted, and its pod deleted in time", () => {
    const world = shadowWorld();
    const before = JSON.stringify(world.node("a-0"));
    const fromMs = world.clock.monotonicMs();
    world.silence(["a-0"]);
    world.advance(900 * S);
    const [verdictS = 0] = shadowedAtS(world, "asked.condition", "a-0", fromMs);
    expect(verdictS).toBeGreaterThan(40);
    expect(verdictS).toBeLessThan(61);
    expect(shadowedAtS(world, "asked.unready", "a-0", fromMs)).toEqual([verdictS]);
    expect(shadowedAtS(world, "asked.taint", "a-0", fromMs).slice(-1)).toEqual([verdictS]);
    expect(shadowedAtS(world, "asked.eviction", "a-0", fromMs)).toEqual([verdictS + 300]);
    expect(JSON.stringify(world.node("a-0"))).toBe(before);
    expect([world.tainted, world.deleted]).toEqual([[], []]);
  });

  test("is admitted at the rate of its zone", () => {
    const world = shadowWorld();
    world.silence(["a-0", "a-1"]);
    world.advance(300 * S);
    const grants = world.published("asked.taint").filter(({ body }) => body.why === "granted");
    expect(grants.map(({ body }) => body.node).sort()).toEqual(["a-0", "a-1"]);
    const [first = 0, second = 0] = grants.map(({ atMs }) => atMs);
    expect(Math.round((second - first) / S)).toBe(10);
  });

  test("keeps its unsent writes until its kubelet returns", () => {
    const world = shadowWorld();
    world.silence(["a-0"]);
    world.advance(120 * S);
    const shown = lastNode(world, "a-0");
    expect(shown?.conditions.find(({ type }) => type === "Ready")?.status).toBe("Unknown");
    expect(shown?.shadow?.added?.map(({ key, effect }) => `${key}:${effect}`).sort()).toEqual([
      `${UNREACHABLE}:NoExecute`,
      `${UNREACHABLE}:NoSchedule`,
    ]);
    world.revive(["a-0"]);
    world.advance(30 * S);
    const healed = lastNode(world, "a-0");
    expect(healed?.conditions.find(({ type }) => type === "Ready")?.status).toBe("True");
    // Admission put the one taint there that Vigil would have removed long ago.
    expect([healed?.taints, healed?.shadow]).toEqual([[], { removed: world.node("a-0").spec.taints }]);
    world.advance(600 * S);
    expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([]);
  });

  test("is as before when its lease alone is renewed", () => {
    const world = shadowWorld();
    world.silence(["a-0"]);
    world.advance(120 * S);
    world.kubelet("a-0").resume();
    world.advance(12 * S);
    expect(lastNode(world, "a-0")?.shadow?.verdict).toBeUndefined();
  });
});

describe("upstream beside it", () => {
  test("replaces unsent writes, and the log says how much later", () => {
    const world = new EvictionWorld();
    for (const node of world.addZone("a", 6)) world.addTolerantPod(node, `pod-${node}`);
    const { log } = world.start(EVICTING, { isShadow: true });
    world.advance(30 * S);
    world.silence(["a-0"]);
    world.advance(60 * S);
    const now = apiTime(world.clock.wallMs());
    const conditions = [{ type: "Ready", status: "Unknown", lastTransitionTime: now }];
    world.patch({ kind: "Node", namespace: "", name: "a-0" }, { status: { conditions } }, "status");
    world.taint("a-0", [{ key: UNREACHABLE, effect: "NoExecute", timeAdded: now }]);
    world.advance(1 * S);
    const shown = lastNode(world, "a-0");
    expect(shown?.shadow?.verdict).toBeUndefined();
    expect(shown?.taints.find(({ effect }) => effect === "NoExecute")).toEqual(world.node("a-0").spec.taints?.[0]);
    expect(log.lines.map(({ message }) => message).filter((line) => line.includes("another controller"))).toEqual([
      expect.stringMatching(/^another controller wrote what Vigil would have written \d+ s after Vigil$/),
      expect.stringMatching(/^another controller wrote what Vigil would have written \d+ s after Vigil$/),
    ]);
  });

  test("deletes the pod that Vigil would have deleted", () => {
    const world = shadowWorld();
    world.taint("a-0", [MAINTENANCE]);
    world.advance(5 * S);
    world.write({ verb: "delete", ref: { kind: "Pod", namespace: "default", name: "pod-a-0" }, urgency: 4 });
    world.taint("a-0", []);
    world.advance(600 * S);
    expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual(["shadowed deleted: maintenance:NoExecute"]);
  });
});

test("countdowns run where one process observes and another would write", () => {
  const world = new EvictionWorld();
  for (const node of world.addZone("a", 6)) world.addTolerantPod(node, `pod-${node}`);
  const { "node-writer": nodeWriter, "pod-writer": podWriter, ...readers } = EVICTING;
  if (nodeWriter === undefined || podWriter === undefined) throw new Error("there are no writers");
  world.start(readers, { isShadow: true });
  world.start({ "node-writer": nodeWriter }, { isShadow: true });
  world.start({ "pod-writer": podWriter }, { isShadow: true });
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(outcomesOf(world, "a-0", "asked.eviction")).toEqual([`shadowed deleted: ${UNREACHABLE}:NoExecute`]);
  world.revive(["a-0"]);
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(outcomesOf(world, "a-0", "asked.eviction")).toHaveLength(2);
});

test("real processes that take over write what was not sent", () => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  const shadow = world.start(EVICTING, { isShadow: true });
  world.advance(30 * S);
  world.silence(["a-0", "a-1"]);
  world.advance(300 * S);
  expect(world.tainted).toEqual([]);
  shadow.kill();
  world.start(EVICTING);
  world.advance(120 * S);
  expect(world.tainted.map(({ name }) => name).sort()).toEqual(["a-0", "a-1"]);
  expect(world.taints("a-1")).toContain(`${UNREACHABLE}:NoExecute`);
});

test("a real writer beside it writes nothing because of an unsent verdict", () => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  const { "node-writer": nodeWriter, "pod-writer": podWriter, ...readers } = EVICTING;
  if (nodeWriter === undefined || podWriter === undefined) throw new Error("there are no writers");
  world.start(readers, { isShadow: true });
  const writers = world.start({ "node-writer": nodeWriter, "pod-writer": podWriter }, { isShadow: true });
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(60 * S);
  writers.kill();
  world.start({ "node-writer": nodeWriter, "pod-writer": podWriter });
  world.kubelet("a-0").resume();
  world.advance(300 * S);
  expect(world.taints("a-0").filter((taint) => taint.startsWith(UNREACHABLE))).toEqual([]);
  expect(world.tainted).toEqual([]);
});
