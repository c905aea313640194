/**
 * Vigil beside upstream: which of the two writes what, with a node that is lost or returns at any moment, and upstream
 * away.
 */
import { describe, expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import { BESIDE_GRACE_MS, BesideWorld, UPSTREAM_GRACE_MS } from "../support/beside-world.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { ALL_UNKNOWN, ALL_WELL } from "./spine.ts";

const SECOND = 1000;
const TOLERATED_SECONDS = 60;
const TOLERATIONS: readonly Toleration[] = [
  { key: UNREACHABLE, operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATED_SECONDS },
];
const MARKS = ["PATCH nodes/a-0/status", "PATCH pods/p/status"];
const NO_EXECUTE = `${UNREACHABLE}:NoExecute`;

/** Two zones of three nodes, a pod on the first node, and both controllers unless `alone`. */
function besideWorld({ alone = false } = {}): BesideWorld {
  const world = new BesideWorld();
  for (const zone of ["a", "b"]) world.addZone(zone, 3);
  world.addTolerantPod("a-0", "p", TOLERATIONS);
  world.startVigil();
  if (!alone) world.startUpstream();
  world.advance(30 * SECOND);
  return world;
}

/** Lets a kubelet report its pod ready again, as it does after its return. */
function reportPod(world: BesideWorld): void {
  const conditions = [{ type: "Ready", status: "True" }];
  world.patch({ kind: "Pod", namespace: "default", name: "p" }, { status: { conditions } }, "status");
}

describe("a node that falls silent", () => {
  test("is Unknown at Vigil's grace; then upstream evicts", () => {
    const world = besideWorld();
    world.silence(["a-0"]);
    world.advance(BESIDE_GRACE_MS - 10 * SECOND);
    expect(world.conditions("a-0")).toEqual(ALL_WELL);
    world.advance(10 * SECOND + 50);
    expect(world.conditions("a-0")).toEqual(ALL_UNKNOWN);
    expect(world.podReady("p")).toBe("False");
    world.advance(10 * SECOND);
    expect(world.taints("a-0")).toContain(NO_EXECUTE);
    world.advance(TOLERATED_SECONDS * SECOND);
    expect(world.deletedAt("p")).toBe(world.timeAddedMs("a-0") + TOLERATED_SECONDS * SECOND);
    expect(world.objectWrites()).toEqual(MARKS);
    expect(world.upstreamWrites).not.toContain("PATCH nodes/a-0/status");
    for (const type of ["asked.taint", "asked.label", "asked.eviction"] as const) {
      expect(world.published(type)).toEqual([]);
    }
  });

  test("is left to upstream if upstream's grace is shorter", () => {
    const world = new BesideWorld();
    world.addZone("a", 3);
    world.startVigil({ nodeMonitorGraceMs: 60 * SECOND });
    world.startUpstream();
    world.advance(30 * SECOND);
    world.silence(["a-0"]);
    world.advance(120 * SECOND);
    expect(world.conditions("a-0")).toEqual(ALL_UNKNOWN);
    expect(world.objectWrites()).toEqual([]);
  });

  test("has Events of itself and its pod, none of upstream's", () => {
    const world = besideWorld();
    world.silence(["a-0"]);
    world.advance(120 * SECOND);
    expect(world.writes.filter((write) => write.includes(" events"))).toHaveLength(2);
  });
});

describe("a node that returns", () => {
  test.each([
    ["before its grace ends", BESIDE_GRACE_MS - 15 * SECOND, false],
    ["as soon as it is Unknown", BESIDE_GRACE_MS + 50, true],
    ["when it is tainted", BESIDE_GRACE_MS + 15 * SECOND, true],
    ["after upstream's grace", UPSTREAM_GRACE_MS + SECOND, true],
    ["when its pod is terminating", BESIDE_GRACE_MS + (TOLERATED_SECONDS + 15) * SECOND, true],
  ])("%s is healed without a fight", (_when, afterMs, isMarked) => {
    const world = besideWorld();
    world.silence(["a-0"]);
    world.advance(afterMs);
    world.revive(["a-0"]);
    if (isMarked && world.podReady("p") === "False") reportPod(world);
    world.advance(300 * SECOND);
    expect(world.conditions("a-0")).toEqual(ALL_WELL);
    expect(world.taints("a-0")).toEqual([]);
    expect(world.objectWrites()).toEqual(isMarked ? MARKS : []);
    expect(world.podReady("p")).not.toBe("False");
  });

  test("again and again costs one write of each field for each loss", () => {
    const world = besideWorld();
    for (let loss = 0; loss < 5; loss++) {
      world.silence(["a-0"]);
      world.advance(40 * SECOND);
      world.revive(["a-0"]);
      reportPod(world);
      world.advance(40 * SECOND);
    }
    expect(world.objectWrites()).toEqual(Array.from({ length: 5 }, () => MARKS).flat());
    expect(world.deleted).toEqual([]);
  });
});

describe("upstream", () => {
  test("away taints a node when it is back; Vigil writes nothing meanwhile", () => {
    const world = besideWorld({ alone: true });
    world.silence(["a-0"]);
    world.advance(600 * SECOND);
    expect(world.taints("a-0")).toEqual(["node.kubernetes.io/not-ready:NoSchedule"]);
    expect(world.deleted).toEqual([]);
    world.startUpstream();
    world.advance(30 * SECOND);
    expect(world.taints("a-0")).toContain(NO_EXECUTE);
    expect(world.objectWrites()).toEqual(MARKS);
  });

  test("away during a countdown evicts when it is back, by its own taint", () => {
    const world = new BesideWorld();
    world.addZone("a", 3);
    world.addZone("b", 3);
    world.addTolerantPod("a-0", "p", TOLERATIONS);
    world.startVigil();
    const upstream = world.startUpstream();
    world.advance(30 * SECOND);
    world.silence(["a-0"]);
    world.advance(BESIDE_GRACE_MS + 15 * SECOND);
    const addedMs = world.timeAddedMs("a-0");
    upstream.kill();
    world.advance(TOLERATED_SECONDS * SECOND);
    expect(world.deleted).toEqual([]);
    world.startUpstream();
    // Nothing shows whether nodes could be heard meanwhile, and nothing remembers it: the countdown counts again.
    world.advance((TOLERATED_SECONDS + 10) * SECOND);
    expect(world.deleted).toHaveLength(1);
    expect(world.timeAddedMs("a-0")).toBe(addedMs);
    expect(world.objectWrites()).toEqual(MARKS);
  });

  test("that starts with Vigil beside a lost node leaves each write to one side", () => {
    const world = new BesideWorld();
    world.addZone("a", 3);
    world.addTolerantPod("a-0", "p", TOLERATIONS);
    world.silence(["a-0"]);
    world.advance(300 * SECOND);
    world.startVigil();
    world.startUpstream();
    world.advance(BESIDE_GRACE_MS + 15 * SECOND);
    expect(world.taints("a-0")).toContain(NO_EXECUTE);
    expect(world.objectWrites()).toEqual(MARKS);
    expect(world.upstreamWrites).not.toContain("PATCH nodes/a-0/status");
  });

  test("halts by its own rule when all zones are down; conditions stay", () => {
    const world = besideWorld();
    const all = ["a", "b"].flatMap((zone) => [0, 1, 2].map((index) => `${zone}-${index}`));
    world.silence(all);
    world.advance(300 * SECOND);
    for (const node of all) {
      expect(world.conditions(node)).toEqual(ALL_UNKNOWN);
      expect(world.taints(node)).not.toContain(NO_EXECUTE);
    }
    const written = world.objectWrites().toSorted();
    expect(written).toEqual([...all.map((node) => `PATCH nodes/${node}/status`), "PATCH pods/p/status"]);
    world.revive(all);
    reportPod(world);
    world.advance(300 * SECOND);
    for (const node of all) expect(world.conditions(node)).toEqual(ALL_WELL);
    expect(world.objectWrites()).toHaveLength(written.length);
    expect(world.deleted).toEqual([]);
  });
});
