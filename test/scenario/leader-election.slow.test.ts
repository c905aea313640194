/**
 * Scenarios on virtual time: two processes without NATS, of which one leads by a Lease. Whatever happens to the leader,
 * the two never write at once, nothing happens early, no countdown is lost, and the standby continues in time.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { type Candidate, StandbyWorld } from "../support/standby-world.ts";

const S = 1_000;
const GRACE_MS = 50 * S;
const TOLERATED_MS = 300 * S;
/** From the last renewal until a standby has taken the Lease, resynced and written. */
const TAKEOVER_MS = 15 * S + S;
/** How much later than its deadline a verdict or a deletion may come, when a process leads then. */
const LATE_MS = 2 * S;

type Ending = (leader: Candidate) => void;

/** How a leader ends, and after how long the other one leads at the latest. */
const ENDINGS: readonly (readonly [string, number, Ending])[] = [
  ["is killed", TAKEOVER_MS, (leader) => leader.kill()],
  ["leaves", S, (leader) => leader.election.release(() => leader.kill())],
  ["is suspended for ever", TAKEOVER_MS, (leader) => leader.standstill.begin()],
  ["is cut off", TAKEOVER_MS, (leader) => void leader.path.sever("silent")],
  ["is refused", TAKEOVER_MS, (leader) => void leader.path.sever("refused")],
];

let world: StandbyWorld;
let leader: Candidate;

beforeEach(() => {
  world = new StandbyWorld();
  world.addZone("a", 6);
  world.addZone("b", 3);
  leader = world.join("first");
  world.advance(S);
  world.join("second");
  world.advance(120 * S);
});

/** Silences nodes and returns the instant of their last heartbeats. */
function silence(...names: readonly string[]): number {
  world.silence(names);
  return world.clock.monotonicMs();
}

const areUnknown = (name: string): boolean =>
  (world.node(name).status.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "Unknown");

function unknownAtMs(name: string, withinMs: number): number {
  const untilMs = world.clock.monotonicMs() + withinMs;
  while (!areUnknown(name) && world.clock.monotonicMs() < untilMs) world.advance(100);
  expect(areUnknown(name)).toBe(true);
  return world.clock.monotonicMs();
}

describe.each(ENDINGS)("a leader that %s", (_how, takeoverMs, end) => {
  test("is followed in time, and never do both write", () => {
    end(leader);
    world.advance(takeoverMs);
    expect(world.holder).toBe("second");
    silence("a-0");
    world.advance(GRACE_MS + 30 * S);
    expect(world.taintedAt("a-0")).toBeDefined();
    expect(world.foreignWrites()).toEqual([]);
  });

  test("loses no silence", () => {
    const silentMs = silence("a-0");
    world.advance(30 * S);
    end(leader);
    const foundMs = unknownAtMs("a-0", 60 * S);
    expect(foundMs).toBeGreaterThan(silentMs + GRACE_MS - 10 * S);
    expect(foundMs).toBeLessThanOrEqual(silentMs + GRACE_MS + LATE_MS);
  });

  test("loses no countdown, and none ends early", () => {
    world.addTolerantPod("a-0", "patient");
    silence("a-0");
    world.advance(GRACE_MS + 30 * S);
    const dueMs = world.timeAddedMs("a-0") + TOLERATED_MS;
    world.advance(TOLERATED_MS - 60 * S);
    end(leader);
    world.advance(90 * S);
    expect(world.deletedAt("patient")).toBeGreaterThanOrEqual(dueMs);
    expect(world.deletedAt("patient")).toBeLessThanOrEqual(dueMs + LATE_MS);
  });

  test("heals after the takeover", () => {
    silence("a-0");
    world.advance(GRACE_MS + 30 * S);
    expect(world.taintedAt("a-0")).toBeDefined();
    end(leader);
    world.revive(["a-0"]);
    world.advance(takeoverMs + S);
    expect(world.node("a-0").spec.taints ?? []).toEqual([]);
    expect(world.foreignWrites()).toEqual([]);
  });
});

describe("a leader that was suspended past its Lease", () => {
  test("writes nothing when it wakes", () => {
    world.addTolerantPod("a-0", "patient");
    silence("a-0");
    world.advance(GRACE_MS + 30 * S);
    world.advance(TOLERATED_MS - 60 * S);
    leader.standstill.begin();
    world.advance(120 * S);
    const before = world.writes.filter(({ member }) => member === "first").length;
    leader.standstill.end();
    world.advance(60 * S);
    expect(world.writes.filter(({ member }) => member === "first")).toHaveLength(before);
    expect(leader.lost()).toBe("the Lease was not renewed within 10 s");
    expect(world.deleted.map(({ name }) => name)).toEqual(["patient"]);
    expect(world.foreignWrites()).toEqual([]);
  });

  test("writes nothing where no process leads", () => {
    world.candidates.get("second")?.kill();
    world.advance(20 * S);
    silence("a-0");
    world.advance(GRACE_MS - 5 * S);
    leader.standstill.begin();
    world.advance(30 * S);
    const before = world.writes.length;
    leader.standstill.end();
    world.advance(60 * S);
    expect(world.writes).toHaveLength(before);
    expect(world.taintedAt("a-0")).toBeUndefined();
  });
});

test("a leader that was suspended for 5 s continues", () => {
  leader.standstill.begin();
  world.advance(5 * S);
  leader.standstill.end();
  silence("a-0");
  world.advance(GRACE_MS + 30 * S);
  expect(world.holder).toBe("first");
  expect(world.taintedAt("a-0")).toBeDefined();
});

test("a standby writes nothing", () => {
  silence("a-0");
  world.advance(GRACE_MS + 60 * S);
  expect(world.taintedAt("a-0")).toBeDefined();
  expect(new Set(world.writes.map(({ member }) => member))).toEqual(new Set(["first"]));
});

test("a takeover keeps the eviction rate of the zone", () => {
  world.addZone("c", 12);
  world.advance(10 * S);
  const dead = ["c-0", "c-1", "c-2", "c-3"];
  silence(...dead);
  world.advance(GRACE_MS + 15 * S);
  leader.kill();
  world.advance(120 * S);
  const stamps = dead.map((name) => world.taintedAt(name) ?? Number.NaN).toSorted((left, right) => left - right);
  const gaps = stamps.slice(1).map((atMs, index) => atMs - (stamps[index] ?? 0));
  expect(stamps.every(Number.isFinite)).toBe(true);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10 * S - S);
});

test("an outage for all makes no verdict, and afterwards one process leads", () => {
  const mend = world.api.faults.refuse();
  world.advance(60 * S);
  expect(leader.lost()).not.toBeNull();
  mend();
  world.advance(60 * S);
  expect(world.holder).toBe("second");
  expect(world.tainted).toEqual([]);
  silence("b-1");
  world.advance(GRACE_MS + 30 * S);
  expect(world.taintedAt("b-1")).toBeDefined();
  expect(world.node("b-1").spec.taints?.map(({ key }) => key)).toContain(UNREACHABLE);
});
