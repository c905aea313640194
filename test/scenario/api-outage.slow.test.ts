/**
 * Scenarios on virtual time: all members of a fleet lose the API server, one member's link flaps, or the server is
 * slow. No shard moves more often than it must.
 */
import { describe, expect, test } from "vitest";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { API_CUTS } from "../sim/api-path.ts";
import { expectLiveWell, fixture, GRACE_MS, MEMBERS, OF_API, shares, stopAll, unknown } from "./api-cut.fixture.ts";

describe("without any API server", () => {
  test("no shard moves when the outage begins or ends", () => {
    const { world } = fixture();
    const back = world.api.faults.refuse();
    world.advance(300_000);
    back();
    world.advance(120_000);
    for (const { movedMs } of world.members.values()) {
      for (const service of OF_API) expect(movedMs(service).filter((ms) => ms > 30_000)).toEqual([]);
    }
  });

  test("no shard moves if all are cut off in 1 s, by any fault", () => {
    const { world } = fixture();
    const repairs = API_CUTS.slice(0, 3).map((cut, index) => {
      const repair = world.members.get(MEMBERS[index] ?? "")?.path.sever(cut);
      world.advance(300);
      return repair;
    });
    world.advance(120_000);
    for (const repair of repairs) repair?.("goOn");
    world.advance(60_000);
    for (const { movedMs } of world.members.values())
      expect(movedMs("observer").filter((ms) => ms > 30_000)).toEqual([]);
  });

  test("the last able member keeps its shards if cut off too", () => {
    const { world, observing } = fixture();
    for (const { name, path } of world.members.values()) if (name !== observing.name) path.sever("refused");
    world.advance(20_000);
    observing.path.sever("refused");
    world.advance(300_000);
    expect(world.observing().name).toBe(observing.name);
    expect(shares(world, "node-writer").filter((count) => count > 0)).toEqual([SHARD_COUNT]);
  });

  test("the first member that is able again takes over", () => {
    const setting = fixture();
    const { world, doomed, observing } = setting;
    const repairs = [...world.members.values()].map(({ name, path }) => [name, path.sever("silent")] as const);
    world.advance(60_000);
    const [able, repair] = repairs.find(([name]) => name !== observing.name) ?? [];
    repair?.("goOn");
    stopAll(doomed);
    world.advance(5_000 + 3_000);
    expect(world.observing().name).toBe(able);
    world.advance(GRACE_MS + 1_000);
    expect(unknown(setting)).toBe(6);
  });
});

test("a flapping link moves shards at most every half minute; dead nodes are found", () => {
  const setting = fixture();
  const { world, doomed, observing } = setting;
  stopAll(doomed);
  for (let cycle = 0; cycle < 30; cycle++) {
    const repair = observing.path.sever(cycle % 2 === 0 ? "silent" : "refused");
    world.advance(14_000);
    repair("break");
    world.advance(7_000);
  }
  const moves = observing.movedMs("node-writer").filter((ms) => ms > 30_000);
  expect(moves.length).toBeGreaterThan(1);
  expect(moves.slice(1).filter((ms, index) => ms - (moves[index] ?? 0) < 30_000)).toEqual([]);
  expect(unknown(setting)).toBe(6);
  expectLiveWell(setting);
});

test("an overloaded API server makes no member unable: 429 is an answer", () => {
  const { world } = fixture();
  world.api.faults.add({ fault: { kind: "status", code: 429, retryAfterSeconds: 1 } });
  world.advance(60_000);
  expect([...world.members.values()].map(({ reachability }) => reachability.report().able)).toEqual([true, true, true]);
});

test("a slow API server makes no member unable: a late answer is an answer", () => {
  const { world } = fixture();
  for (const { path } of world.members.values()) path.slow({ get: 5_000, list: 5_000, patch: 5_000, delete: 5_000 });
  world.advance(120_000);
  expect([...world.members.values()].map(({ reachability }) => reachability.report().able)).toEqual([true, true, true]);
});
