/** Fleets of two Kubernetes clusters under one --cluster: which member refuses to join, and which is ignored. */
import { describe, expect, test } from "vitest";
import type { ServiceName } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { BusFleet } from "../../../services/platform/fleet/fleet.ts";
import { ForeignMembers } from "../../../services/platform/fleet/foreign-members.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { cuttableTransport } from "../../support/cuttable-transport.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

const profile = STANDARD_PROFILE;
const { memberPulseMs, memberTimeoutMs } = profile;
/** How long a member listens before its first pulse. */
const LISTENING_MS = memberPulseMs * 1.25;
/** How long until it claims: it listens again after its first pulse. */
const JOINING_MS = memberPulseMs * 2.5;
const LONG_MS = 10_000;
const services: readonly ServiceName[] = ["node"];
const [OURS, THEIRS] = ["uid-ours", "uid-theirs"];

/** A network of members on one virtual clock; each serves the cluster of a uid, or does not know its cluster. */
function world() {
  const clock = new VirtualClock();
  const network = memoryTransport(clock);
  const sent: string[] = [];
  network.subscribe("vigil.v1.prod.>", (payload) => sent.push(new TextDecoder().decode(payload)));
  const join = (member: string, clusterUid: string | null) => {
    const link = cuttableTransport(network);
    const [log, metrics] = [recordingLog(), createMetrics()];
    const common = { clock, member, cluster: "prod", log, metrics, profile };
    const foreignMembers = clusterUid === null ? null : new ForeignMembers({ ...common, clusterUid });
    const isForeign = (source: string) => foreignMembers?.sent(source) === true;
    const busOf = (service: string) =>
      typedBus({ ...common, transport: link, service, isForeign, mailboxMessagesMax: 100 });
    const refusals: string[] = [];
    const listened = (problem: string | null) => {
      if (problem !== null) refusals.push(problem);
    };
    const fleet = new BusFleet({ ...common, bus: busOf("fleet"), services, foreignMembers, listened });
    const owned = () => Array.from({ length: SHARD_COUNT }, (_, shard) => fleet.owns("node", shard));
    const errors = () => log.lines.filter(({ level }) => level === "error").map(({ message }) => message);
    return { fleet, link, metrics, busOf, refusals, errors, owned, count: () => owned().filter(Boolean).length };
  };
  const sentBy = (member: string) => sent.filter((text) => text.includes(`"member":"${member}"`));
  return { clock, network, join, sentBy };
}

const PROBLEM =
  "--cluster=prod: a on this NATS serves another Kubernetes cluster under the same name (its kube-system has uid " +
  "uid-theirs, ours uid-ours): give one of them another --cluster or NATS account";

describe("a member among foreign ones", () => {
  test("refuses to join before it pulses or owns a shard", () => {
    const { clock, join, sentBy } = world();
    const first = join("a", THEIRS);
    clock.advance(LONG_MS);
    const second = join("b", OURS);
    clock.advance(LISTENING_MS);
    expect(second.refusals).toEqual([PROBLEM]);
    clock.advance(LONG_MS);
    second.fleet.goodbye();
    clock.advance(LONG_MS);
    expect(second.refusals).toHaveLength(1);
    expect([sentBy("b"), second.count()]).toEqual([[], 0]);
    expect([first.errors(), first.count()]).toEqual([[], SHARD_COUNT]);
  });

  test("refuses to join when one started just before it", () => {
    const { clock, join } = world();
    const first = join("a", THEIRS);
    clock.advance(1);
    const second = join("b", OURS);
    clock.advance(LONG_MS);
    expect([first.refusals, first.count()]).toEqual([[], SHARD_COUNT]);
    expect([second.refusals, second.count()]).toEqual([[PROBLEM], 0]);
  });

  test("refuses to join when one has its name", () => {
    const { clock, join } = world();
    join("a", THEIRS);
    clock.advance(LONG_MS);
    const second = join("a", OURS);
    clock.advance(LISTENING_MS);
    expect(second.refusals).toEqual([PROBLEM]);
  });

  test("joins when it receives only a goodbye from them", () => {
    const { clock, join } = world();
    const first = join("a", THEIRS);
    clock.advance(LONG_MS);
    const second = join("b", OURS);
    first.fleet.goodbye();
    clock.advance(LONG_MS);
    expect([second.refusals, second.count()]).toEqual([[], SHARD_COUNT]);
  });
});

test("a member joins its own fleet although a forged pulse names another cluster", () => {
  const { clock, network, join } = world();
  const first = join("a", OURS);
  clock.advance(LONG_MS);
  const rest = { cluster: "prod", service: "fleet", member: "mallory", log: recordingLog(), metrics: createMetrics() };
  const bus = typedBus({ ...rest, clock, transport: network, mailboxMessagesMax: 100 });
  const pulse = { member: "mallory", services: [], since: 0, leaving: false, clusterUid: THEIRS };
  const forge = () => bus.publish("pulse.member", pulse, null);
  const second = join("b", OURS);
  for (let passed = 0; passed < LONG_MS; passed += 500) {
    forge();
    clock.advance(500);
  }
  expect(second.refusals).toEqual([]);
  expect(first.count() + second.count()).toBe(SHARD_COUNT);
  expect(second.errors()).toEqual([expect.stringContaining("mallory on this NATS serves another")]);
});

test("a member that knows its cluster listens before it pulses and before it claims", () => {
  const { clock, join, sentBy } = world();
  const first = join("a", OURS);
  clock.advance(memberPulseMs * 1.25 - 1);
  expect(sentBy("a")).toEqual([]);
  clock.advance(1);
  expect(sentBy("a")).toEqual([expect.stringContaining(`"clusterUid":"${OURS}"`)]);
  clock.advance(JOINING_MS - memberPulseMs * 1.25);
  expect(first.count()).toBe(SHARD_COUNT);
});

test("a member that ends while it still listens sends no goodbye", () => {
  const { clock, join, sentBy } = world();
  const first = join("a", OURS);
  let left = false;
  first.fleet.goodbye(() => {
    left = true;
  });
  clock.advance(LONG_MS);
  expect([sentBy("a"), left, first.count()]).toEqual([[], true, 0]);
});

test("a member whose bus goes down while it listens joins once it is up", () => {
  const { clock, join } = world();
  const first = join("a", OURS);
  first.link.setConnected(false);
  clock.advance(LONG_MS);
  expect(first.count()).toBe(0);
  first.link.setConnected(true);
  clock.advance(memberPulseMs * 2.25);
  expect(first.count()).toBe(SHARD_COUNT);
});

test.each([
  ["of one cluster that start together", OURS, OURS, 0],
  ["of one cluster that start in turn", OURS, OURS, LONG_MS],
  ["of which the later does not know its cluster", OURS, null, LONG_MS],
  ["of which the earlier does not know its cluster", null, OURS, LONG_MS],
])("members %s share every shard, one owner each", (_which, earlier, later, apartMs) => {
  const { clock, join } = world();
  const first = join("a", earlier);
  clock.advance(apartMs);
  const second = join("b", later);
  for (let passed = 0; passed < LONG_MS; passed += 50) {
    clock.advance(50);
    const owners = first.owned().map((owns, shard) => Number(owns) + Number(second.owned()[shard]));
    if (apartMs > 0 || passed >= 3 * memberPulseMs) expect(owners).toEqual(owners.map(() => 1));
  }
  expect([first, second].map(({ count }) => count())).not.toContain(0);
  expect([first, second].flatMap(({ refusals, errors }) => [...refusals, ...errors()])).toEqual([]);
});

describe("members of two joined networks", () => {
  /** Two members that a network cut separates at first. */
  const meet = () => {
    const { clock, join } = world();
    const first = join("a", THEIRS);
    clock.advance(LONG_MS);
    Object.assign(first.link, { sends: false });
    clock.advance(memberTimeoutMs + memberPulseMs);
    const second = join("b", OURS);
    clock.advance(LONG_MS);
    Object.assign(first.link, { sends: true });
    clock.advance(LONG_MS);
    return { clock, first, second };
  };

  test("each own every shard and log the other once", () => {
    const { first, second } = meet();
    expect([first.count(), second.count()]).toEqual([SHARD_COUNT, SHARD_COUNT]);
    expect(second.errors()).toEqual([PROBLEM]);
    expect(first.errors()).toEqual([expect.stringContaining("--cluster=prod: b on this NATS serves another")]);
  });

  test("count each other until the time-out", async () => {
    const { clock, first, second } = meet();
    const received = () => metricValue(second.metrics, "vigil_fleet_foreign_members");
    expect(await received()).toBe(1);
    first.fleet.goodbye();
    clock.advance(memberTimeoutMs);
    expect(await received()).toBe(0);
  });

  test("ignore each other, even after a goodbye", async () => {
    const { clock, first, second } = meet();
    const received: string[] = [];
    second.busOf("node").subscribe("asked.drain", "all", ({ body }) => received.push(body.node));
    const sender = first.busOf("zone");
    const request = () => sender.publish("asked.drain", { node: "n-1", uid: "u", zone: "z" }, null);
    request();
    first.fleet.goodbye();
    clock.advance(0);
    request();
    clock.advance(0);
    expect(received).toEqual([]);
    expect(await metricValue(second.metrics, "vigil_bus_dropped_total", { reason: "foreign" })).toBe(2);
    clock.advance(memberTimeoutMs);
    request();
    clock.advance(0);
    expect(received).toEqual(["n-1"]);
  });
});
