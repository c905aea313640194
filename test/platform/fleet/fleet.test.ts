/** The fleet on a memory bus and virtual time: members join, leave, die and are cut off. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Fleet, ServiceName } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { aloneFleet, BusFleet } from "../../../services/platform/fleet/fleet.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { type CuttableTransport, cuttableTransport } from "../../support/cuttable-transport.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

const { memberPulseMs, memberTimeoutMs } = STANDARD_PROFILE;
const LISTENING_MS = memberPulseMs * 1.25;
const ALL = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** A process of the fleet under test. */
interface Member {
  readonly fleet: BusFleet;
  readonly link: CuttableTransport;
  /** The shards its node service has gained and not lost. */
  readonly shards: Set<number>;
  readonly changes: string[];
  /** Its metrics: members received, shards of its node service owned. */
  readMetrics(): Promise<[members: number, shards: number]>;
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
    const fleet = new BusFleet({ bus, clock, member, services, profile: STANDARD_PROFILE, log, metrics });
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
    const readMetrics = () =>
      Promise.all([
        metricValue(metrics, "vigil_fleet_members"),
        metricValue(metrics, "vigil_fleet_shards", { service: "node" }),
      ]);
    return { fleet, link, shards, changes, readMetrics, kill };
  };
  return { clock, network, log, join };
}

/** How many members own each shard of the node service. */
function ownersPerShard(members: readonly Member[]): number[] {
  return ALL.map((shard) => members.filter(({ shards }) => shards.has(shard)).length);
}

const each = (count: number) => ALL.map(() => count);

test("a process without a bus owns everything from the start", () => {
  const fleet: Fleet = aloneFleet("m");
  const gained: number[] = [];
  fleet.follow("zone", { gained: (shard) => gained.push(shard), lost: () => {} });
  expect(gained).toEqual(ALL);
  expect(fleet.owns("zone", 63)).toBe(true);
});

test("the first member listens before it claims every shard", () => {
  const { clock, join } = world();
  const first = join("a");
  clock.advance(LISTENING_MS - 1);
  expect(first.shards.size).toBe(0);
  clock.advance(1);
  expect([...first.shards].sort((left, right) => left - right)).toEqual(ALL);
});

test("every shard has one owner at every instant while a member joins", () => {
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

test("members that started at different instants pulse at the same ones", () => {
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
  // Requests published before its successor subscribed still reach it.
  expect([first.shards.size, left]).toEqual([shared, false]);
  clock.advance(250);
  expect([first.shards.size, second.shards.size, left]).toEqual([0, SHARD_COUNT, true]);
  clock.advance(60_000);
  expect([first.shards.size, second.shards.size]).toEqual([0, SHARD_COUNT]);
});

test("a dead member keeps its shards until the time-out", () => {
  const { clock, join } = world();
  const [first, second] = [join("a"), join("b")];
  clock.advance(10_000);
  first.kill();
  clock.advance(memberTimeoutMs - memberPulseMs);
  expect(second.shards.size).toBeLessThan(SHARD_COUNT);
  clock.advance(memberPulseMs);
  expect(second.shards.size).toBe(SHARD_COUNT);
});

test("the metrics count the members received and the shards owned", async () => {
  const { clock, join } = world();
  const [first, second] = [join("a"), join("b")];
  clock.advance(LISTENING_MS + memberPulseMs);
  expect(await first.readMetrics()).toEqual([2, first.shards.size]);
  expect(await second.readMetrics()).toEqual([2, SHARD_COUNT - first.shards.size]);
  second.kill();
  clock.advance(memberTimeoutMs + memberPulseMs);
  expect(await first.readMetrics()).toEqual([1, SHARD_COUNT]);
  expect(await second.readMetrics()).toEqual([0, 0]);
});

test("scaling from one to four and back moves few shards of the other members", () => {
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
    // The load bound may move a shard or two.
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

describe("a member that is cut off owns nothing, and others take over", () => {
  const cuts: [string, (link: CuttableTransport) => void][] = [
    ["when its bus is down", (link) => link.setConnected(false)],
    ["when its messages are lost", (link) => Object.assign(link, { sends: false })],
    ["when it receives nothing, although others receive it", (link) => Object.assign(link, { receives: false })],
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

test("a restarted member takes its shards back without a gap", () => {
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

test("each service is shared among the members that run it", () => {
  const { clock, join } = world();
  const [first, second] = [join("a", ["node", "zone"]), join("b", ["node"])];
  clock.advance(10_000);
  expect(ALL.every((shard) => first.fleet.owns("zone", shard))).toBe(true);
  expect(ALL.some((shard) => second.fleet.owns("zone", shard))).toBe(false);
  expect(second.shards.size).toBeGreaterThan(0);
});

test("two processes with one name both own its shards, and both log it", () => {
  const { clock, join, log } = world();
  const first = join("a");
  clock.advance(10_000);
  const second = join("a");
  clock.advance(10_000);
  expect(ownersPerShard([first, second])).toEqual(each(2));
  const errors = log.lines.filter(({ level }) => level === "error").map(({ message }) => message);
  const clashes = errors.filter((error) => error.startsWith("another process pulses under this one's name"));
  expect(clashes.length).toBeGreaterThan(1);
});

test("after any starts, deaths and cuts, each shard has exactly one owner again", () => {
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
      // Long enough for dead members to time out, and for cut-off ones to notice, listen and claim.
      clock.advance(2 * memberTimeoutMs + memberPulseMs + LISTENING_MS);
      expect(ownersPerShard([...lives.values()])).toEqual(each(lives.size > 0 ? 1 : 0));
    }),
    { numRuns: 100 },
  );
});

test("a follower gains the shards already owned at once, and nothing after it stops", () => {
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
