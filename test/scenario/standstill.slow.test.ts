/**
 * Scenarios on virtual time: a process of Vigil is suspended, and its input waits unread until it continues. Live nodes
 * and zones stay as they are, and dead nodes are found within a pulse and a grace after that.
 */
import { describe, expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { type ClocksMeanwhile, StandstillWorld } from "../support/standstill-world.ts";

const S = 1000;
const PULSE_MS = 1 * S;
const GRACE_MS = 50 * S;
/** Long enough for every verdict and grant that could follow. */
const AFTERWARDS_MS = 120 * S;
/** From a verdict until the API shows it. */
const WRITE_MS = 200;
/** How often a kubelet renews its lease. */
const HEARTBEAT_MS = 10 * S;
/** A member that lost its shards to others waits this long before it observes again. */
const LISTENING_MS = 1.5 * PULSE_MS;

const SPLIT = ["observer", "node", "zone", "writers"] as const;

/** One process with all services. */
function together(clocks?: ClocksMeanwhile): StandstillWorld {
  const world = new StandstillWorld();
  world.add("all", { clocks });
  return settled(world);
}

/** One process for each service that watches or judges, and one for the writers. */
function split(clocks?: ClocksMeanwhile): StandstillWorld {
  const world = new StandstillWorld();
  for (const name of ["observer", "node", "zone"] as const) world.add(name, { clocks }, name);
  world.add("writers", { clocks }, "node-writer", "pod-writer", "taint-manager");
  return settled(world);
}

/** Three processes with all services, which share the shards. */
function shared(clocks?: ClocksMeanwhile): StandstillWorld {
  const world = new StandstillWorld();
  for (const member of ["p1", "p2", "p3"]) world.add(member, { clocks, isShared: true });
  return settled(world);
}

function settled(world: StandstillWorld): StandstillWorld {
  world.settle();
  expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
  return world;
}

function expectNothingFalse(world: StandstillWorld, dead: readonly string[] = []): void {
  expect(world.foundUnknown).toEqual(dead);
  expect(world.freed).toEqual([]);
  expect(world.zoneStates).toEqual(["Normal"]);
}

function expectFound(world: StandstillWorld, name: string): void {
  expectNothingFalse(world, [name]);
  expect(world.conditions(name)).toContain("Ready=Unknown");
}

describe("a process with all services", () => {
  test.each([12, 65, 600])("that was suspended for %i s makes no false verdict", (seconds) => {
    const world = together();
    world.stopFor(["all"], seconds * S);
    world.advance(AFTERWARDS_MS);
    expectNothingFalse(world);
  });

  test("finds a meanwhile dead node in a pulse and a grace", () => {
    const world = together();
    world.stopFor(["all"], 65 * S, "b-1");
    world.advance(PULSE_MS + GRACE_MS + WRITE_MS);
    expectFound(world, "b-1");
  });
});

describe.each(SPLIT)("in a split fleet, %s", (member) => {
  test("that was suspended for 12 s makes no false verdict", () => {
    const world = split();
    world.stopFor([member], 12 * S);
    world.advance(AFTERWARDS_MS);
    expectNothingFalse(world);
  });

  test("finds a meanwhile dead node in time, and no other", () => {
    const world = split();
    world.stopFor([member], 65 * S, "b-1");
    world.advance(PULSE_MS + GRACE_MS + WRITE_MS);
    expectFound(world, "b-1");
    world.advance(AFTERWARDS_MS);
    expectNothingFalse(world, ["b-1"]);
  });
});

test("an observer that was suspended does not claim to have observed the time before", () => {
  const world = split();
  world.stopFor(["observer"], 65 * S);
  const wokenMs = world.clock.monotonicMs();
  world.advance(5 * S);
  world.api.faults.cutWatches({ how: "break" });
  world.advance(60 * S);
  const pulses = world.receivedSince("observed.pulse").filter(({ atMs }) => atMs >= wokenMs);
  const seenFor = pulses.map(({ at, body }) => at - (body.watches.leases.since ?? at));
  const excessMs = pulses.map(({ atMs }, index) => (seenFor[index] ?? 0) - (atMs - wokenMs));
  expect(Math.max(...excessMs)).toBeLessThan(1);
});

test("a suspended observer lists everything again: its watches may have broken", () => {
  const world = split();
  const listed: string[] = [];
  world.api.faults.add({
    fault: { kind: "latency" },
    when: ({ verb, resource }) => {
      if (verb === "list") listed.push(resource.plural);
      return false;
    },
  });
  world.stopFor(["observer"], 8 * S);
  world.advance(AFTERWARDS_MS);
  expect(listed).toEqual([]);
  world.stopFor(["observer"], 12 * S);
  world.advance(1 * S);
  expect(listed.toSorted()).toEqual(["leases", "nodes", "pods"]);
});

test("processes that all stand still together judge nothing wrongly", () => {
  const world = split();
  world.stopFor(SPLIT, 65 * S, "b-1");
  world.advance(PULSE_MS + GRACE_MS + WRITE_MS);
  expectFound(world, "b-1");
  world.advance(AFTERWARDS_MS);
  expectNothingFalse(world, ["b-1"]);
});

describe.each(["p1", "p2", "p3"])("of three processes, %s", (member) => {
  test.each([4, 12, 65])("that was suspended for %i s makes no false verdict", (seconds) => {
    const world = shared();
    world.stopFor([member], seconds * S);
    world.advance(AFTERWARDS_MS);
    expectNothingFalse(world);
  });

  test("that was suspended delays a verdict by at most a takeover", () => {
    const world = shared();
    world.stopFor([member], 65 * S, "b-1");
    world.advance(LISTENING_MS + GRACE_MS + WRITE_MS);
    expectFound(world, "b-1");
  });
});

describe.each(["stop", "stop, wall is set"] as const)("on a suspended machine (%s)", (clocks) => {
  test("one process misjudges none, finds the dead", () => {
    const world = together(clocks);
    world.stopFor(["all"], 65 * S, "b-1");
    world.advance(PULSE_MS + GRACE_MS + WRITE_MS);
    expectFound(world, "b-1");
  });

  test.each(SPLIT)("the %s process misjudges none, finds the dead", (member) => {
    const world = split(clocks);
    world.stopFor([member], 65 * S, "b-1");
    world.advance(PULSE_MS + GRACE_MS + WRITE_MS);
    expectFound(world, "b-1");
  });

  test("a watch that broke unnoticed misleads none", () => {
    const world = split(clocks);
    const mend = world.api.faults.silenceWatches("leases");
    world.stopFor(["observer"], 65 * S);
    world.advance(40 * S);
    mend();
    world.advance(AFTERWARDS_MS);
    expectNothingFalse(world);
  });

  test.each(["p1", "p2", "p3"])("one of three, %s, judges nothing wrongly", (member) => {
    const world = shared(clocks);
    world.stopFor([member], 65 * S, "b-1");
    world.advance(LISTENING_MS + GRACE_MS + WRITE_MS);
    expectFound(world, "b-1");
  });
});

test("an observer that was suspended does not stand in for one that was stopped", () => {
  const world = new StandstillWorld();
  world.add("p1", { isShared: true });
  world.add("p2", { clocks: "stop", isShared: true });
  settled(world);
  // The lists of p1 need a while, so the view of p2 from before its suspension is published first.
  world.api.faults.add({ fault: { kind: "latency", answerMs: 300 }, when: ({ verb }) => verb === "list" });
  const resume = world.stopProcess("p2");
  world.advance(20 * S);
  const mend = world.api.faults.silenceWatches("leases");
  world.stopFor(["p1"], 65 * S);
  resume();
  world.advance(2 * S);
  mend();
  world.advance(AFTERWARDS_MS);
  expectNothingFalse(world);
});

// A clock that is corrected late makes the last heartbeat look old: the delete waits for the next one.
test.each([
  ["run", 0],
  ["stop", 65 * S + HEARTBEAT_MS],
  ["stop, wall is set", 65 * S + HEARTBEAT_MS],
] as const)("a countdown while clocks %s is never early, and at most the standstill late", (clocks, lostMs) => {
  const world = new StandstillWorld();
  world.add("all", { clocks });
  world.addTolerantPod("a-0", "pod");
  settled(world);
  world.stopFor(["all"], 65 * S);
  world.advance(400 * S);
  const stayedMs = (world.deletedAt("pod") ?? 0) - world.timeAddedMs("a-0");
  expect(stayedMs).toBeGreaterThanOrEqual(300 * S);
  expect(stayedMs).toBeLessThanOrEqual(300 * S + lostMs + 2 * S);
});

test.each(["run", "stop, wall is set"] as const)(
  "a pod is not deleted on a read from before a standstill (clocks %s)",
  (clocks) => {
    const world = new StandstillWorld();
    world.add("all", { clocks });
    world.addTolerantPod("b-1", "pod");
    settled(world);
    const isMark = ({ verb, name }: Call): boolean => verb === "patch" && name === "pod";
    world.api.faults.add({ fault: { kind: "latency", answerMs: 500 }, when: isMark });
    world.taint("b-1", [{ key: "maintenance", effect: "NoExecute" }]);
    world.advance(200);
    world.clock.after(10 * S, () => untaint(world, "b-1"));
    world.stopFor(["all"], 65 * S);
    world.advance(AFTERWARDS_MS);
    expect(world.deletedAt("pod")).toBeUndefined();
  },
);

/** Removes every taint from a node while time passes. */
function untaint({ api }: StandstillWorld, name: string): void {
  const headers = { "content-type": "application/merge-patch+json" };
  const body = JSON.stringify({ spec: { taints: null } });
  const ignored = { response: () => {}, data: () => {}, end: () => {}, failed: () => {} };
  api.wire.send({ method: "PATCH", path: `/api/v1/nodes/${name}`, headers, body }, ignored);
}
