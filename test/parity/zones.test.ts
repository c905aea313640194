/** Zones in circumstances that upstream meets in its own way, on virtual time: at a start, and without counted nodes. */
import { expect, test } from "vitest";
import { EvictionWorld, NOT_READY } from "../support/eviction-world.ts";

const S = 1000;
/** Nodes fall silent at 30 s; their silence is found here. */
const FOUND_MS = 80_001;

test("when everything is down at the start, the halt is the first thing: taints go, none is set (R6.13)", () => {
  const world = new EvictionWorld();
  const names = [...world.addZone("a", 3), ...world.addZone("b", 3)];
  world.advance(1 * S);
  for (const name of names) world.kubelet(name).report("Ready", "False");
  world.taint("a-0", [{ key: NOT_READY, effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" }]);
  world.advance(1 * S);
  world.run();
  world.advance(120 * S);
  expect(world.said("judged.zone").filter(({ body }) => body.state !== "FullDisruption" && body.size > 0)).toEqual([]);
  const lastOf = (zone: string) => world.said("judged.zone").findLast(({ body }) => body.zone.endsWith(zone))?.body;
  for (const zone of ["a", "b"]) expect(lastOf(zone)).toMatchObject({ halted: true, size: 3, notReady: 3 });
  expect(world.tainted.map(({ name }) => name)).toEqual(["a-0"]);
  expect(world.healed.map(({ name }) => name)).toEqual(["a-0"]);
});

test("a zone of excluded nodes alone keeps its pace: one node each 10 s (R6.19, L9)", () => {
  const world = new EvictionWorld();
  world.addZone("b", 3);
  const zone = { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "x" };
  const excluded = ["x-0", "x-1", "x-2"];
  for (const name of excluded) world.register(name, { ...zone, "node.kubernetes.io/exclude-disruption": "" });
  world.run();
  world.advance(30 * S);
  world.silence(excluded);
  world.advance(90 * S);
  const lateMs = world.tainted.map(({ atMs }) => Math.round(atMs - FOUND_MS));
  expect(lateMs).toEqual([0, 10 * S, 20 * S]);
});
