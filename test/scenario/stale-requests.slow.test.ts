/**
 * Scenarios on virtual time: a writer is suspended while its grants are withdrawn. Requests that waited for it are not
 * carried out, and those that are still valid are repeated.
 */
import { expect, test } from "vitest";
import type { Profile } from "../../protocols/profile.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { Standstill } from "../support/standstill.ts";

const S = 1000;
/** Until every node is found silent. */
const SILENT_MS = 90 * S;
const PULSES = { pulsePeriodMs: 1 * S, pulseTimeoutMs: 4 * S };

/** Two zones under one process for all services but the writer, and one for the writer, which can be suspended. */
function withWriter(writer: "node-writer" | "pod-writer", profile: Partial<Profile>) {
  const world = new EvictionWorld({ ...PULSES, nodeEvictionsPerSecond: 0.1, ...profile });
  world.addZone("a", 12);
  world.addZone("c", 3);
  const { [writer]: service, ...rest } = EVICTING;
  world.start(rest, { member: "rest" });
  const standstill = new Standstill(world.clock);
  world.start({ [writer]: service }, { member: "writer", standstill });
  world.advance(10 * S);
  return { world, standstill };
}

/** Silences every node, so that every zone is disrupted. */
function halt(world: EvictionWorld): void {
  world.silence([...Array.from({ length: 12 }, (_, index) => `a-${index}`), "c-0", "c-1", "c-2"]);
  world.advance(SILENT_MS);
  expect(world.published("judged.zone").some(({ body }) => body.halted)).toBe(true);
}

function untilFirstTaint(world: EvictionWorld): void {
  world.silence(["a-0", "a-1", "a-2", "a-3"]);
  while (world.tainted.length === 0) world.advance(1 * S);
  world.advance(5 * S);
  expect(world.tainted).toHaveLength(1);
}

const grants = (world: EvictionWorld) => world.published("asked.taint").filter(({ body }) => body.why === "granted");

test("a node-writer that was suspended taints no node that was granted before a halt", () => {
  const { world, standstill } = withWriter("node-writer", {});
  untilFirstTaint(world);
  standstill.begin();
  world.advance(10 * S);
  expect(grants(world).length).toBeGreaterThan(1);
  halt(world);
  standstill.end();
  world.advance(60 * S);
  expect(world.tainted).toHaveLength(1);
});

test("a node-writer that was suspended taints at the rate, and every node in the end", () => {
  const { world, standstill } = withWriter("node-writer", {});
  untilFirstTaint(world);
  standstill.begin();
  world.advance(60 * S);
  standstill.end();
  const resumedMs = world.clock.monotonicMs();
  world.advance(9 * S);
  expect(world.tainted.filter(({ atMs }) => atMs >= resumedMs).length).toBeLessThanOrEqual(1);
  world.advance(180 * S);
  expect(new Set(world.tainted.map(({ name }) => name))).toEqual(new Set(["a-0", "a-1", "a-2", "a-3"]));
});

/** A node that is to be drained while the pod-writer is suspended. */
function drainDuringStandstill(): ReturnType<typeof withWriter> {
  const { world, standstill } = withWriter("pod-writer", { evictionMode: "direct" });
  world.addTolerantPod("a-0", "pod");
  world.silence(["a-0"]);
  world.advance(280 * S);
  standstill.begin();
  world.advance(60 * S);
  return { world, standstill };
}

test("a pod-writer that was suspended deletes no pod whose drain a halt has cancelled", () => {
  const { world, standstill } = drainDuringStandstill();
  expect(world.published("asked.eviction").length).toBeGreaterThan(0);
  halt(world);
  standstill.end();
  world.advance(60 * S);
  expect(world.deleted).toEqual([]);
});

test("a pod-writer that was suspended deletes the pods of a drain that goes on", () => {
  const { world, standstill } = drainDuringStandstill();
  standstill.end();
  expect(world.deleted).toEqual([]);
  world.advance(65 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod"]);
});
