/** The fleet on a memory bus and virtual time: joining, leaving, dying, being cut off. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Fleet, ServiceName } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { aloneFleet, type BusFleet, busFleet } from "../../../services/platform/fleet/fleet.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { type CuttableTransport, cuttableTransport } from "../../support/cuttable-transport.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

const { memberPulseMs, memberTimeoutMs } = STANDARD_PROFILE;
const LISTENING_MS = memberPulseMs * 1.25;
const ALL = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** A process of the fleet as a test sees it. */
interface Member {
  readonly fleet: BusFleet;
  readonly link: CuttableTransport;
  /** The shards its node service has gained and not lost. */
  readonly shards: Set<number>;
  readonly changes: string[];
  /** What its metrics tell: members heard, shards of its node service minded. */
  figures(): Promise<[members: number, shards: number]>;
  /** Ends it without a goodbye. */
  kill(): void;
}

/** A network of members that share one virtual clock. */
function world() {
  const clock = new VirtualClock();
  const network = memoryTransport(clock);
  const log = recordingLog();
  const join = (member: string, services: readonly ServiceName[] = ["node"]): Member => {
    const link = cuttableTransport(network);
    const metrics = createMetrics();
    const identity = { cluster: "c", service: "fleet", member };
    const bus = typedBus({ transport: link, clock, ...identity, log, metrics, mailboxMessagesMax: 1000 });
    const fleet = busFleet({ bus, clock, member, services, profile: STANDARD_PROFILE, log, metrics });
    const shards = new Set<number>();
    const changes: string[] = [];
    const note = (change: "gained" | "lost") => (shard: number) => {
      expect(fleet.owns("node", shard)).toBe(change === "gained");
      changes.push(`${change} ${shard}`);
      if (change === "gained") shards.add(shard);
      else shards.delete(shard);
    };
    fleet.follow("node", { gained: note("gained"), lost: note("lost") });
    const kill = () => {
      link.sends = false;
      link.receives = false;
    };
    const figures = () =>
      Promise.all([
        metricValue(metrics, "vigil_fleet_members"),
        metricValue(metrics, "vigil_fleet_shards", { service: "node" }),
      ]);
    return { fleet, link, shards, changes, figures, kill };
  };
  return { clock, network, log, join };
}

/** The shards of the node service by the number of members that mind them. */
function ownersPerShard(members: readonly Member[]): number[] {
  return ALL.map((shard) => members.filter(({ shards }) => shards.has(shard)).length);
}

const each = (count: number) => ALL.map(() => count);

test("a process that is alone without a bus minds everything from the start", () => {
  const fleet: Fleet = aloneFleet("m");
  const gained: number[] = [];
  fleet.follow("zone", { gained: (shard) => gained.push(shard), lost: () => {} });
  expect(gained).toEqual(ALL);
  expect(fleet.owns("zone", 63)).toBe(true);
});

test("the first member listens before it claims, and then minds everything", () => {
  const { clock, join } = world();
  const first = join("a");
  clock.advance(LISTENING_MS - 1);
  expect(first.shards.size).toBe(0);
  clock.advance(1);
  expect([...first.shards].sort((left, right) => left - right)).toEqual(ALL);
});

test("a joiner takes over its share at one instant: before it every shard has one owner, after it too", () => {
  const { clock, join } = world();
  const members = [join("a")];
  clock.advance(10_000);
  members.push(join("b"));
  for (let passed = 0; passed < 5000; passed += 50) {
    clock.advance(50);
    expect(ownersPerShard(members)).toEqual(each(1));
  }
  expect(members.map(({ shards }) => shards.size)).not.toContain(0);
});

test("members that came at different moments pulse at the same ones, so that who hears them is woken once", () => {
  const { clock, network, join } = world();
  const pulsedAt: number[] = [];
  network.subscribe("vigil.v1.c.pulse.member.>", () => pulsedAt.push(clock.wallMs() % memberPulseMs));
  for (const member of ["a", "b", "c"]) {
    join(member);
    clock.advance(270);
  }
  clock.advance(10_000);
  pulsedAt.length = 0;
  clock.advance(10 * memberPulseMs);
  expect(pulsedAt).toEqual(Array.from({ length: 30 }, () => 0));
});

test("a member that says goodbye leaves no shard without an owner", () => {
  const { clock, join } = world();
  const [first, second] = [join("a"), join("b")];
  clock.advance(10_000);
  const shared = first.shards.size;
  let left = false;
  first.fleet.goodbye(() => {
    left = true;
  });
  clock.advance(0);
  expect(second.shards.size).toBe(SHARD_COUNT);
  // What was asked before its successor listened still reaches it.
  expect([first.shards.size, left]).toEqual([shared, false]);
  clock.advance(250);
  expect([first.shards.size, second.shards.size, left]).toEqual([0, SHARD_COUNT, true]);
  clock.advance(60_000);
  expect([first.shards.size, second.shards.size]).toEqual([0, SHARD_COUNT]);
});

test("a member that dies is gone after the time-out, and no sooner", () => {
  const { clock, join } = world();
  const [first, second] = [join("a"), join("b")];
  clock.advance(10_000);
  first.kill();
  clock.advance(memberTimeoutMs - memberPulseMs);
  expect(second.shards.size).toBeLessThan(SHARD_COUNT);
  clock.advance(memberPulseMs);
  expect(second.shards.size).toBe(SHARD_COUNT);
});

test("the metrics of each member tell how many it hears and how many shards it minds, none while it is cut off", async () => {
  const { clock, join } = world();
  const [first, second] = [join("a"), join("b")];
  clock.advance(LISTENING_MS + memberPulseMs);
  expect(await first.figures()).toEqual([2, first.shards.size]);
  expect(await second.figures()).toEqual([2, SHARD_COUNT - first.shards.size]);
  second.kill();
  clock.advance(memberTimeoutMs + memberPulseMs);
  expect(await first.figures()).toEqual([1, SHARD_COUNT]);
  expect(await second.figures()).toEqual([0, 0]);
});

test("scaling from one to four and back moves hardly a shard but those of who comes and goes", () => {
  const { clock, join } = world();
  const members = [join("vigil-0")];
  clock.advance(5000);
  for (const name of ["vigil-1", "vigil-2", "vigil-3"]) {
    const before = members.map(({ changes }) => changes.length);
    const joiner = join(name);
    clock.advance(5000);
    const changes = members.flatMap((member, index) => member.changes.slice(before[index]));
    const count = (kind: string) => changes.filter((change) => change.startsWith(kind)).length;
    expect(count("lost") - count("gained")).toBe(joiner.shards.size);
    // The bound on the load may push a shard or two on.
    expect(count("gained")).toBeLessThanOrEqual(2);
    members.push(joiner);
    expect(ownersPerShard(members)).toEqual(each(1));
  }
  expect(Math.max(...members.map(({ shards }) => shards.size))).toBeLessThanOrEqual(20);
  for (const leaver of members.splice(1)) {
    leaver.fleet.goodbye();
    clock.advance(5000);
  }
  expect(members[0]?.shards.size).toBe(SHARD_COUNT);
});

describe("a member that is cut off minds nothing, and others take over", () => {
  const cuts: [string, (link: CuttableTransport) => void][] = [
    ["when it knows that its bus is down", (link) => link.setConnected(false)],
    ["when nothing of it arrives anywhere", (link) => Object.assign(link, { sends: false })],
    ["when it hears nothing, although it is heard", (link) => Object.assign(link, { receives: false })],
  ];

  test.each(cuts)("%s", (_when, cut) => {
    const { clock, join } = world();
    const [first, second] = [join("a"), join("b")];
    clock.advance(10_000);
    cut(first.link);
    clock.advance(memberTimeoutMs + memberPulseMs);
    expect([first.shards.size, second.shards.size]).toEqual([0, SHARD_COUNT]);
    Object.assign(first.link, { sends: true, receives: true });
    first.link.setConnected(true);
    clock.advance(memberPulseMs + LISTENING_MS);
    expect(ownersPerShard([first, second])).toEqual(each(1));
    expect(first.shards.size).toBeGreaterThan(0);
  });
});

test("a member whose bus is down from the start claims nothing until it is up", () => {
  const { clock, join } = world();
  const first = join("a");
  first.link.setConnected(false);
  clock.advance(60_000);
  expect(first.shards.size).toBe(0);
  first.link.setConnected(true);
  clock.advance(memberPulseMs + LISTENING_MS);
  expect(first.shards.size).toBe(SHARD_COUNT);
});

test("a member that was killed and started anew under its name takes its shards back without a gap in between", () => {
  const { clock, join } = world();
  const [first, second] = [join("a"), join("b")];
  clock.advance(10_000);
  first.kill();
  clock.advance(100);
  const again = join("a");
  clock.advance(LISTENING_MS);
  expect(ownersPerShard([again, second])).toEqual(each(1));
  clock.advance(60_000);
  expect(ownersPerShard([again, second])).toEqual(each(1));
});

test("each service is shared among those who run it", () => {
  const { clock, join } = world();
  const [first, second] = [join("a", ["node", "zone"]), join("b", ["node"])];
  clock.advance(10_000);
  expect(ALL.every((shard) => first.fleet.owns("zone", shard))).toBe(true);
  expect(ALL.some((shard) => second.fleet.owns("zone", shard))).toBe(false);
  expect(second.shards.size).toBeGreaterThan(0);
});

test("two processes with one name both own its shards, and both say so", () => {
  const { clock, join, log } = world();
  const first = join("a");
  clock.advance(10_000);
  const second = join("a");
  clock.advance(10_000);
  expect(ownersPerShard([first, second])).toEqual(each(2));
  const errors = log.lines.filter(({ level }) => level === "error").map(({ message }) => message);
  expect(errors.filter((error) => error.startsWith("another process says that it is this one")).length).toBeGreaterThan(
    1,
  );
});

test("whatever befalls the members, in calm each shard has one owner and no one minds what it should not", () => {
  const member = fc.nat(4);
  const event = fc.record({
    who: member,
    what: fc.constantFrom("start" as const, "kill" as const, "goodbye" as const, "deaf" as const, "mute" as const),
    thenMs: fc.nat(4000),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 25 }), (events) => {
      const { clock, join } = world();
      const lives = new Map<number, Member>();
      for (const { who, what, thenMs } of events) {
        const life = lives.get(who);
        if (what === "start" && life === undefined) lives.set(who, join(`m${who}`));
        else if (what === "deaf" && life !== undefined) life.link.receives = false;
        else if (what === "mute" && life !== undefined) life.link.sends = false;
        else if (life !== undefined) {
          if (what === "goodbye") life.fleet.goodbye();
          else life.kill();
          lives.delete(who);
        }
        clock.advance(thenMs);
      }
      for (const { link } of lives.values()) Object.assign(link, { sends: true, receives: true });
      // Long enough for the dead to be missed, and for the deaf to notice, listen and claim.
      clock.advance(2 * memberTimeoutMs + memberPulseMs + LISTENING_MS);
      expect(ownersPerShard([...lives.values()])).toEqual(each(lives.size > 0 ? 1 : 0));
    }),
    { numRuns: 100 },
  );
});

test("a follower hears of the shards already minded at once, and nothing more after it has stopped", () => {
  const { clock, join } = world();
  const first = join("a");
  clock.advance(10_000);
  const gained: number[] = [];
  const stop = first.fleet.follow("node", {
    gained: (shard) => gained.push(shard),
    lost: (shard) => gained.push(-shard),
  });
  expect(gained.length).toBe(SHARD_COUNT);
  stop();
  first.fleet.goodbye();
  clock.advance(10_000);
  expect(gained.length).toBe(SHARD_COUNT);
});
