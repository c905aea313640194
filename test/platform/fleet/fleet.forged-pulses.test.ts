/** Forged pulses: what an attacker with a NATS seed, who can publish any `pulse.member`, can do to a fleet. */
import { describe, expect, test } from "vitest";
import { frameId } from "../../../protocols/frame.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT, subjectOf } from "../../../protocols/subjects.ts";
import { encode } from "../../../protocols/wire.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { BusFleet } from "../../../services/platform/fleet/fleet.ts";
import { ForeignMembers } from "../../../services/platform/fleet/foreign-members.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

const { memberPulseMs, memberTimeoutMs } = STANDARD_PROFILE;
const LONG_MS = 20_000;
const HIGHEST = Number.MAX_SAFE_INTEGER;
const MEMBERS = ["a", "b", "c"];
const ALL_SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** The forged fields of a pulse; the others are as an honest member publishes them. */
interface Forgery extends Partial<BodyOf<"pulse.member">> {
  readonly member: string;
  /** The member that the frame names as its source. */
  readonly from?: string;
  /** The member whose subject it is published on. */
  readonly on?: string;
  readonly epoch?: number;
  readonly sequence?: number;
}

/** Members that have shared the shards for a while, and an attacker. */
function fleetWithAttacker({ fleetMembersMax = STANDARD_PROFILE.fleetMembersMax } = {}) {
  const clock = new VirtualClock();
  const network = memoryTransport(clock);
  const profile = { ...STANDARD_PROFILE, fleetMembersMax };
  const pulses = new Map<string, number>();
  const join = (member: string) => {
    const [log, metrics] = [recordingLog(), createMetrics()];
    const common = { clock, member, cluster: "c", log, metrics, profile };
    const foreignMembers = new ForeignMembers({ ...common, clusterUid: "ours" });
    const transport = {
      ...network,
      publish(subject: string, payload: Uint8Array) {
        pulses.set(member, (pulses.get(member) ?? 0) + 1);
        network.publish(subject, payload);
      },
    };
    const isForeign = (source: string) => foreignMembers.sent(source);
    const busOf = (service: string) =>
      typedBus({ ...common, transport, service, isForeign, mailboxMessagesMax: 100_000 });
    const fleet = new BusFleet({ ...common, bus: busOf("fleet"), services: ["node"], foreignMembers });
    const shards = () => ALL_SHARDS.filter((shard) => fleet.owns("node", shard));
    return { member, fleet, log, metrics, busOf, shards, since: clock.wallMs() };
  };
  const members = MEMBERS.map(join);
  clock.advance(LONG_MS);
  let forgeries = 0;
  const forge = ({ member, from = member, on = member, epoch = clock.wallMs(), sequence, ...rest }: Forgery) => {
    forgeries += 1;
    const honest = { member, services: ["node"], since: epoch, leaving: false, clusterUid: "ours" };
    const source = `fleet@${from}`;
    const id = frameId(source, epoch, "pulse.member", 0, sequence ?? forgeries);
    const frame = { type: "pulse.member", id, source, at: clock.wallMs(), cause: null } as const;
    network.publish(subjectOf("c", "pulse.member", 0, [on]), encode({ ...frame, body: { ...honest, ...rest } }));
  };
  /** Publishes forgeries each half second for `ms`. Returns every number of owners that any shard had meanwhile. */
  const forgeFor = (ms: number, ...forgeries: Forgery[]) => {
    const owners = new Set<number>();
    for (let passedMs = 0; passedMs < ms; passedMs += memberPulseMs / 2) {
      for (const one of forgeries) forge(one);
      clock.advance(memberPulseMs / 2);
      for (const count of ownersPerShard()) owners.add(count);
    }
    return [...owners];
  };
  const ownersPerShard = () =>
    ALL_SHARDS.map((shard) => members.filter(({ fleet }) => fleet.owns("node", shard)).length);
  const problems = () => members.map(({ log }) => log.lines.filter(({ level }) => level === "error").length);
  return { clock, network, members, pulses, forge, forgeFor, ownersPerShard, problems };
}

describe("a pulse in the name of another member", () => {
  test.each<[string, Forgery]>([
    ["with the latest possible epoch", { member: "a", epoch: HIGHEST, since: 1 }],
    ["with the last number of its stream", { member: "a", sequence: HIGHEST, services: [] }],
    ["that says goodbye", { member: "a", leaving: true }],
    ["of a later start, which runs nothing", { member: "a", services: [] }],
    ["of an earlier start, which runs nothing", { member: "a", services: [], since: 1 }],
    ["of another Kubernetes cluster", { member: "a", services: [], clusterUid: "theirs" }],
    ["with the attacker as source", { member: "a", from: "mallory", services: [] }],
    ["with the attacker as source, as a goodbye", { member: "a", from: "mallory", leaving: true }],
    ["on the attacker's own subject", { member: "a", on: "mallory", services: [] }],
  ])("%s takes no shard from it", (_which, pulse) => {
    const { forgeFor } = fleetWithAttacker();
    expect(forgeFor(LONG_MS, pulse)).toEqual([1]);
  });

  test("with its start time only raises an alarm", () => {
    const { clock, members, forge } = fleetWithAttacker();
    const [first] = members;
    const owned = first?.shards();
    for (let times = 0; times < 20; times++) {
      forge({ member: "a", since: first?.since ?? 0, epoch: first?.since ?? 0, sequence: HIGHEST, services: [] });
      clock.advance(memberPulseMs / 2);
    }
    expect(first?.shards()).toEqual(expect.arrayContaining(owned ?? []));
    const errors = first?.log.lines.filter(({ level }) => level === "error").map(({ message }) => message);
    expect(errors?.[0]).toMatch(/^another process pulses under this one's name/);
  });

  test("has no effect once the forgeries end", () => {
    const { clock, members, forgeFor, ownersPerShard } = fleetWithAttacker();
    const since = members[0]?.since ?? 0;
    forgeFor(LONG_MS, { member: "a", since, epoch: since, sequence: HIGHEST, leaving: true, services: [] });
    forgeFor(LONG_MS, { member: "a", since, epoch: since, sequence: HIGHEST, services: [] });
    clock.advance(2 * memberTimeoutMs);
    expect(ownersPerShard()).toEqual(ALL_SHARDS.map(() => 1));
  });

  test("is counted, and logged a few times only", async () => {
    const { members, forgeFor, problems } = fleetWithAttacker();
    forgeFor(60_000, { member: "a", services: [] }, { member: "b", services: [], clusterUid: "theirs" });
    for (const { metrics } of members) {
      expect(await metricValue(metrics, "vigil_fleet_pulses_refused_total")).toBeGreaterThan(100);
    }
    for (const count of problems()) {
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(20);
    }
  });
});

test("a pulse that names another cluster does not exclude its member", () => {
  const { clock, members, forge } = fleetWithAttacker();
  const received: string[] = [];
  members[1]?.busOf("node").subscribe("asked.drain", "all", ({ body }) => received.push(body.node));
  forge({ member: "a", clusterUid: "theirs" });
  clock.advance(0);
  members[0]?.busOf("zone").publish("asked.drain", { node: "n-1", uid: "u", zone: "z" }, null);
  clock.advance(0);
  expect(received).toEqual(["n-1"]);
});

test("a member joins although a foreign member used its name before", () => {
  const { clock, network, members, forge } = fleetWithAttacker();
  const received: string[] = [];
  members[1]?.busOf("node").subscribe("asked.drain", "all", ({ body }) => received.push(body.node));
  const say = () => {
    const rest = { service: "zone", member: "later", cluster: "c", log: recordingLog(), metrics: createMetrics() };
    const bus = typedBus({ ...rest, clock, transport: network, mailboxMessagesMax: 10 });
    bus.publish("asked.drain", { node: `n-${received.length}`, uid: "u", zone: "z" }, null);
    clock.advance(0);
  };
  forge({ member: "later", clusterUid: "theirs" });
  clock.advance(0);
  say();
  expect(received).toEqual([]);
  forge({ member: "later" });
  forge({ member: "later", clusterUid: "theirs" });
  clock.advance(1);
  say();
  expect(received).toEqual(["n-0"]);
});

describe("forged members", () => {
  const forged = (count: number, from = 0): Forgery[] =>
    Array.from({ length: count }, (_, index) => ({ member: `forged-${from + index}` }));

  test("take no shard when --fleet-members-max is the number of processes", async () => {
    const { members, forgeFor, problems } = fleetWithAttacker({ fleetMembersMax: MEMBERS.length });
    expect(forgeFor(LONG_MS, ...forged(20))).toEqual([1]);
    for (const { metrics } of members) {
      expect(await metricValue(metrics, "vigil_fleet_members")).toBe(MEMBERS.length);
      expect(await metricValue(metrics, "vigil_fleet_pulses_refused_total", { reason: "full" })).toBeGreaterThan(20);
    }
    expect(Math.min(...problems())).toBeGreaterThan(0);
  });

  test("time out and leave every shard to the real ones", () => {
    const { clock, forgeFor, ownersPerShard } = fleetWithAttacker();
    forgeFor(LONG_MS, ...forged(20));
    clock.advance(memberTimeoutMs + memberPulseMs);
    expect(ownersPerShard()).toEqual(ALL_SHARDS.map(() => 1));
  });

  test("cost few assignments, log lines and answers", async () => {
    const { clock, members, pulses, forge } = fleetWithAttacker();
    const count = async (name: string) => Promise.all(members.map(({ metrics }) => metricValue(metrics, name)));
    const before = await count("vigil_fleet_assignments_total");
    const answered = new Map(pulses);
    const lines = members.map(({ log }) => log.lines.length);
    for (const pulse of forged(3000)) forge(pulse);
    clock.advance(0);
    const assigned = (await count("vigil_fleet_assignments_total")).map((after, index) => after - (before[index] ?? 0));
    // 3000 messages are 24 turns of the event loop with 128 each.
    expect(Math.max(...assigned)).toBeLessThanOrEqual(24);
    for (const { member } of members) {
      expect((pulses.get(member) ?? 0) - (answered.get(member) ?? 0)).toBeLessThanOrEqual(24);
    }
    for (let round = 1; round < 10; round++) {
      for (const pulse of forged(100, 3000 * round)) forge(pulse);
      clock.advance(memberPulseMs);
    }
    for (const [index, { log }] of members.entries()) {
      expect(log.lines.length - (lines[index] ?? 0)).toBeLessThan(100);
    }
  });
});

test("a member can report only itself as unable", () => {
  const { forgeFor } = fleetWithAttacker();
  const unable = { services: ["node"], since: 1 };
  expect(forgeFor(LONG_MS, { member: "a", from: "mallory", services: [], unable })).toEqual([1]);
});
