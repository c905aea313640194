/** The fleet of a process that may be on standby. */
import { beforeEach, expect, test } from "vitest";
import type { ServiceName } from "../../../protocols/ports.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { LeaderFleet } from "../../../services/platform/fleet/leader-fleet.ts";

let fleet: LeaderFleet;
let owned: Record<string, Set<number>>;

beforeEach(() => {
  fleet = new LeaderFleet("m-0");
  owned = {};
});

function follow(service: ServiceName): () => void {
  const shards = new Set<number>();
  owned[service] = shards;
  return fleet.follow(service, {
    gained: (shard) => shards.add(shard),
    lost: (shard) => shards.delete(shard),
  });
}

const counts = () => Object.fromEntries(Object.entries(owned).map(([service, shards]) => [service, shards.size]));

test("a standby owns the shards of the observer alone", () => {
  for (const service of ["observer", "node", "pod-writer"] as const) follow(service);
  expect(counts()).toEqual({ observer: SHARD_COUNT, node: 0, "pod-writer": 0 });
  expect([fleet.owns("observer"), fleet.owns("node")]).toEqual([true, false]);
});

test("a leader owns every shard, also of a service that starts later", () => {
  follow("node");
  fleet.lead();
  follow("zone");
  expect(counts()).toEqual({ node: SHARD_COUNT, zone: SHARD_COUNT });
});

test("one that may no longer lead has only the observer's at once", () => {
  for (const service of ["observer", "node"] as const) follow(service);
  fleet.lead();
  fleet.yield();
  expect(counts()).toEqual({ observer: SHARD_COUNT, node: 0 });
  expect(fleet.owns("node")).toBe(false);
});

test("one that leaves keeps its shards until its writes are done", () => {
  follow("node");
  fleet.lead();
  let hasLeft = false;
  fleet.goodbye(() => {
    hasLeft = true;
  });
  expect(hasLeft).toBe(true);
  expect(counts()).toEqual({ node: SHARD_COUNT });
});

test("a follower that has stopped hears nothing", () => {
  const stop = follow("node");
  stop();
  fleet.lead();
  expect(counts()).toEqual({ node: 0 });
});
