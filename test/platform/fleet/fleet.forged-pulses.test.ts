/**
 * A fleet on a memory bus and virtual time, and somebody who holds the seed of a process and may publish any
 * `pulse.member`: what it can make the others believe, and what it costs them.
 */
import { describe, expect, test } from "vitest";
import { frameId } from "../../../protocols/frame.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT, subjectOf } from "../../../protocols/subjects.ts";
import { encode } from "../../../protocols/wire.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { busFleet } from "../../../services/platform/fleet/fleet.ts";
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

/** What is forged of a pulse; the rest is as an honest member has it. */
interface Lie extends Partial<BodyOf<"pulse.member">> {
  readonly member: string;
  /** The member that the frame names as its source. */
  readonly from?: string;
  /** The member whose subject it is published on. */
  readonly on?: string;
  readonly epoch?: number;
  readonly sequence?: number;
}

/** Members that have shared the shards for a while, and the liar beside them. */
function fleetWithLiar({ fleetMembersMax = STANDARD_PROFILE.fleetMembersMax } = {}) {
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
    const fleet = busFleet({ ...common, bus: busOf("fleet"), services: ["node"], foreignMembers });
    const shards = () => ALL_SHARDS.filter((shard) => fleet.owns("node", shard));
    return { member, fleet, log, metrics, busOf, shards, since: clock.wallMs() };
  };
  const members = MEMBERS.map(join);
  clock.advance(LONG_MS);
  let told = 0;
  const lie = ({ member, from = member, on = member, epoch = clock.wallMs(), sequence, ...rest }: Lie) => {
    told += 1;
    const honest = { member, services: ["node"], since: epoch, leaving: false, clusterUid: "ours" };
    const source = `fleet@${from}`;
    const id = frameId(source, epoch, "pulse.member", 0, sequence ?? told);
    const frame = { type: "pulse.member", id, source, at: clock.wallMs(), cause: null } as const;
    network.publish(subjectOf("c", "pulse.member", 0, [on]), encode({ ...frame, body: { ...honest, ...rest } }));
  };
  /** Lies each half second for so long, and notes which shards had no owner or several at some moment. */
  const lieFor = (ms: number, ...lies: Lie[]) => {
    const owners = new Set<number>();
    for (let passedMs = 0; passedMs < ms; passedMs += memberPulseMs / 2) {
      for (const one of lies) lie(one);
      clock.advance(memberPulseMs / 2);
      for (const count of ownersPerShard()) owners.add(count);
    }
    return [...owners];
  };
  const ownersPerShard = () =>
    ALL_SHARDS.map((shard) => members.filter(({ fleet }) => fleet.owns("node", shard)).length);
  const problems = () => members.map(({ log }) => log.lines.filter(({ level }) => level === "error").length);
  return { clock, network, members, pulses, lie, lieFor, ownersPerShard, problems };
}

describe("a pulse in the name of another member", () => {
  test.each<[string, Lie]>([
    ["from the end of time", { member: "a", epoch: HIGHEST, since: 1 }],
    ["with the last number of its stream", { member: "a", sequence: HIGHEST, services: [] }],
    ["that says goodbye", { member: "a", leaving: true }],
    ["of a later life, which runs nothing", { member: "a", services: [] }],
    ["of an earlier life, which runs nothing", { member: "a", services: [], since: 1 }],
    ["of another Kubernetes cluster", { member: "a", services: [], clusterUid: "theirs" }],
    ["that the liar signs itself", { member: "a", from: "mallory", services: [] }],
    ["that the liar signs itself, as a goodbye", { member: "a", from: "mallory", leaving: true }],
    ["on the liar's own subject", { member: "a", on: "mallory", services: [] }],
  ])("%s takes no shard from it", (_which, pulse) => {
    const { lieFor } = fleetWithLiar();
    expect(lieFor(LONG_MS, pulse)).toEqual([1]);
  });

  test("in the life that it lives now is an alarm of the member itself, which keeps what it owns", () => {
    const { clock, members, lie } = fleetWithLiar();
    const [first] = members;
    const owned = first?.shards();
    for (let times = 0; times < 20; times++) {
      lie({ member: "a", since: first?.since ?? 0, epoch: first?.since ?? 0, sequence: HIGHEST, services: [] });
      clock.advance(memberPulseMs / 2);
    }
    expect(first?.shards()).toEqual(expect.arrayContaining(owned ?? []));
    const errors = first?.log.lines.filter(({ level }) => level === "error").map(({ message }) => message);
    expect(errors?.[0]).toMatch(/^another process says that it is this one/);
  });

  test("ends with the lies: afterwards each shard has one owner again", () => {
    const { clock, members, lieFor, ownersPerShard } = fleetWithLiar();
    const since = members[0]?.since ?? 0;
    lieFor(LONG_MS, { member: "a", since, epoch: since, sequence: HIGHEST, leaving: true, services: [] });
    lieFor(LONG_MS, { member: "a", since, epoch: since, sequence: HIGHEST, services: [] });
    clock.advance(2 * memberTimeoutMs);
    expect(ownersPerShard()).toEqual(ALL_SHARDS.map(() => 1));
  });

  test("is counted, and named in the log of each member a few times only", async () => {
    const { members, lieFor, problems } = fleetWithLiar();
    lieFor(60_000, { member: "a", services: [] }, { member: "b", services: [], clusterUid: "theirs" });
    for (const { metrics } of members) {
      expect(await metricValue(metrics, "vigil_fleet_pulses_refused_total")).toBeGreaterThan(100);
    }
    for (const count of problems()) {
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(20);
    }
  });
});

test("what a member says is heard although a pulse under its name names another Kubernetes cluster", () => {
  const { clock, members, lie } = fleetWithLiar();
  const heard: string[] = [];
  members[1]?.busOf("node").subscribe("asked.drain", "all", ({ body }) => heard.push(body.node));
  lie({ member: "a", clusterUid: "theirs" });
  clock.advance(0);
  members[0]?.busOf("zone").publish("asked.drain", { node: "n-1", uid: "u", zone: "z" }, null);
  clock.advance(0);
  expect(heard).toEqual(["n-1"]);
});

test("what a member says is heard although strangers used its name before it came", () => {
  const { clock, network, members, lie } = fleetWithLiar();
  const heard: string[] = [];
  members[1]?.busOf("node").subscribe("asked.drain", "all", ({ body }) => heard.push(body.node));
  const say = () => {
    const rest = { service: "zone", member: "later", cluster: "c", log: recordingLog(), metrics: createMetrics() };
    const bus = typedBus({ ...rest, clock, transport: network, mailboxMessagesMax: 10 });
    bus.publish("asked.drain", { node: `n-${heard.length}`, uid: "u", zone: "z" }, null);
    clock.advance(0);
  };
  lie({ member: "later", clusterUid: "theirs" });
  clock.advance(0);
  say();
  expect(heard).toEqual([]);
  lie({ member: "later" });
  lie({ member: "later", clusterUid: "theirs" });
  clock.advance(1);
  say();
  expect(heard).toEqual(["n-0"]);
});

describe("invented members", () => {
  const invented = (count: number, from = 0): Lie[] =>
    Array.from({ length: count }, (_, index) => ({ member: `invented-${from + index}` }));

  test("take no shard where --fleet-members-max is the number of processes that there are", async () => {
    const { members, lieFor, problems } = fleetWithLiar({ fleetMembersMax: MEMBERS.length });
    expect(lieFor(LONG_MS, ...invented(20))).toEqual([1]);
    for (const { metrics } of members) {
      expect(await metricValue(metrics, "vigil_fleet_members")).toBe(MEMBERS.length);
      expect(await metricValue(metrics, "vigil_fleet_pulses_refused_total", { reason: "full" })).toBeGreaterThan(20);
    }
    expect(Math.min(...problems())).toBeGreaterThan(0);
  });

  test("are gone with their last pulse, and leave every shard to the real ones", () => {
    const { clock, lieFor, ownersPerShard } = fleetWithLiar();
    lieFor(LONG_MS, ...invented(20));
    clock.advance(memberTimeoutMs + memberPulseMs);
    expect(ownersPerShard()).toEqual(ALL_SHARDS.map(() => 1));
  });

  test("cost little, however many they are: owners are worked out once a turn, lines and answers are few", async () => {
    const { clock, members, pulses, lie } = fleetWithLiar();
    const count = async (name: string) => Promise.all(members.map(({ metrics }) => metricValue(metrics, name)));
    const before = await count("vigil_fleet_assignments_total");
    const answered = new Map(pulses);
    const lines = members.map(({ log }) => log.lines.length);
    for (const pulse of invented(3000)) lie(pulse);
    clock.advance(0);
    const assigned = (await count("vigil_fleet_assignments_total")).map((after, index) => after - (before[index] ?? 0));
    // 3000 messages are 24 turns of 128.
    expect(Math.max(...assigned)).toBeLessThanOrEqual(24);
    for (const { member } of members) {
      expect((pulses.get(member) ?? 0) - (answered.get(member) ?? 0)).toBeLessThanOrEqual(24);
    }
    for (let round = 1; round < 10; round++) {
      for (const pulse of invented(100, 3000 * round)) lie(pulse);
      clock.advance(memberPulseMs);
    }
    for (const [index, { log }] of members.entries()) {
      expect(log.lines.length - (lines[index] ?? 0)).toBeLessThan(100);
    }
  });
});

test("a member can say only of itself that it is unable", () => {
  const { lieFor } = fleetWithLiar();
  const unable = { services: ["node"], since: 1 };
  expect(lieFor(LONG_MS, { member: "a", from: "mallory", services: [], unable })).toEqual([1]);
});
