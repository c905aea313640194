/** A fleet on virtual time whose --cluster another Kubernetes cluster has too: who refuses, and who is not believed. */
import { describe, expect, test } from "vitest";
import type { ServiceName } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { busFleet } from "../../../services/platform/fleet/fleet.ts";
import { ForeignMembers } from "../../../services/platform/fleet/foreign-members.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { cuttableTransport } from "../../support/cuttable-transport.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

const profile = STANDARD_PROFILE;
const { memberPulseMs, memberTimeoutMs } = profile;
/** How long it listens before its first word. */
const LISTENING_MS = memberPulseMs * 1.25;
/** It listens before its first word, and again before it claims, as its services do. */
const JOINING_MS = memberPulseMs * 2.5;
const LONG_MS = 10_000;
const services: readonly ServiceName[] = ["node"];
const [OURS, THEIRS] = ["uid-ours", "uid-theirs"];

/** A network of members that share one virtual clock; each minds the cluster of a uid, or does not know which. */
function world() {
  const clock = new VirtualClock();
  const network = memoryTransport(clock);
  const said: string[] = [];
  network.subscribe("vigil.v1.prod.>", (payload) => said.push(new TextDecoder().decode(payload)));
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
    const fleet = busFleet({ ...common, bus: busOf("fleet"), services, foreignMembers, listened });
    const minded = () => Array.from({ length: SHARD_COUNT }, (_, shard) => fleet.owns("node", shard));
    const errors = () => log.lines.filter(({ level }) => level === "error").map(({ message }) => message);
    return { fleet, link, metrics, busOf, refusals, errors, minded, count: () => minded().filter(Boolean).length };
  };
  const saidBy = (member: string) => said.filter((text) => text.includes(`"member":"${member}"`));
  return { clock, network, join, saidBy };
}

const PROBLEM =
  "--cluster=prod: a on this NATS minds another Kubernetes cluster under the same name (its kube-system has uid " +
  "uid-theirs, ours uid-ours): give one of them another --cluster or NATS account";

describe("a member that starts where another Kubernetes cluster's are", () => {
  test("refuses in one line, before it has said a word or minded a shard, and leaves the others as they were", () => {
    const { clock, join, saidBy } = world();
    const first = join("a", THEIRS);
    clock.advance(LONG_MS);
    const second = join("b", OURS);
    clock.advance(LISTENING_MS);
    expect(second.refusals).toEqual([PROBLEM]);
    clock.advance(LONG_MS);
    second.fleet.goodbye();
    clock.advance(LONG_MS);
    expect(second.refusals).toHaveLength(1);
    expect([saidBy("b"), second.count()]).toEqual([[], 0]);
    expect([first.errors(), first.count()]).toEqual([[], SHARD_COUNT]);
  });

  test("refuses too when one of them began but a moment before it", () => {
    const { clock, join } = world();
    const first = join("a", THEIRS);
    clock.advance(1);
    const second = join("b", OURS);
    clock.advance(LONG_MS);
    expect([first.refusals, first.count()]).toEqual([[], SHARD_COUNT]);
    expect([second.refusals, second.count()]).toEqual([[PROBLEM], 0]);
  });

  test("refuses when its own name is among theirs", () => {
    const { clock, join } = world();
    join("a", THEIRS);
    clock.advance(LONG_MS);
    const second = join("a", OURS);
    clock.advance(LISTENING_MS);
    expect(second.refusals).toEqual([PROBLEM]);
  });

  test("joins when all it hears of them is a goodbye", () => {
    const { clock, join } = world();
    const first = join("a", THEIRS);
    clock.advance(LONG_MS);
    const second = join("b", OURS);
    first.fleet.goodbye();
    clock.advance(LONG_MS);
    expect([second.refusals, second.count()]).toEqual([[], SHARD_COUNT]);
  });
});

test("a member joins its own beside strangers, so that one forged pulse keeps no fleet from growing", () => {
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
  expect(second.errors()).toEqual([expect.stringContaining("mallory on this NATS minds another")]);
});

test("a member that knows its cluster says nothing until it has listened, and listens again before it claims", () => {
  const { clock, join, saidBy } = world();
  const first = join("a", OURS);
  clock.advance(memberPulseMs * 1.25 - 1);
  expect(saidBy("a")).toEqual([]);
  clock.advance(1);
  expect(saidBy("a")).toEqual([expect.stringContaining(`"clusterUid":"${OURS}"`)]);
  clock.advance(JOINING_MS - memberPulseMs * 1.25);
  expect(first.count()).toBe(SHARD_COUNT);
});

test("a member that ends while it still listens says no goodbye either", () => {
  const { clock, join, saidBy } = world();
  const first = join("a", OURS);
  let left = false;
  first.fleet.goodbye(() => {
    left = true;
  });
  clock.advance(LONG_MS);
  expect([saidBy("a"), left, first.count()]).toEqual([[], true, 0]);
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
  ["of the same cluster that begin at the same time", OURS, OURS, 0],
  ["of the same cluster that begin one after the other", OURS, OURS, LONG_MS],
  ["of which the later one does not know its cluster, as an older version", OURS, null, LONG_MS],
  ["of which the earlier one does not know its cluster, as an older version", null, OURS, LONG_MS],
])("members %s share every shard, and each shard has one owner throughout", (_which, earlier, later, apartMs) => {
  const { clock, join } = world();
  const first = join("a", earlier);
  clock.advance(apartMs);
  const second = join("b", later);
  for (let passed = 0; passed < LONG_MS; passed += 50) {
    clock.advance(50);
    const owners = first.minded().map((minds, shard) => Number(minds) + Number(second.minded()[shard]));
    if (apartMs > 0 || passed >= 3 * memberPulseMs) expect(owners).toEqual(owners.map(() => 1));
  }
  expect([first, second].map(({ count }) => count())).not.toContain(0);
  expect([first, second].flatMap(({ refusals, errors }) => [...refusals, ...errors()])).toEqual([]);
});

describe("members of two Kubernetes clusters that hear each other only once both run", () => {
  /** Cut off from one another by a network that is whole again after a while. */
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

  test("each mind every shard of their own, and say once who is there", () => {
    const { first, second } = meet();
    expect([first.count(), second.count()]).toEqual([SHARD_COUNT, SHARD_COUNT]);
    expect(second.errors()).toEqual([PROBLEM]);
    expect(first.errors()).toEqual([expect.stringContaining("--cluster=prod: b on this NATS minds another")]);
  });

  test("count each other for as long as they can be heard", async () => {
    const { clock, first, second } = meet();
    const heard = () => metricValue(second.metrics, "vigil_fleet_foreign_members");
    expect(await heard()).toBe(1);
    first.fleet.goodbye();
    clock.advance(memberTimeoutMs);
    expect(await heard()).toBe(0);
  });

  test("act on nothing that the other says, not even on what it finishes once it has said goodbye", async () => {
    const { clock, first, second } = meet();
    const heard: string[] = [];
    second.busOf("node").subscribe("asked.drain", "all", ({ body }) => heard.push(body.node));
    const told = first.busOf("zone");
    const tell = () => told.publish("asked.drain", { node: "n-1", uid: "u", zone: "z" }, null);
    tell();
    first.fleet.goodbye();
    clock.advance(0);
    tell();
    clock.advance(0);
    expect(heard).toEqual([]);
    expect(await metricValue(second.metrics, "vigil_bus_dropped_total", { reason: "foreign" })).toBe(2);
    clock.advance(memberTimeoutMs);
    tell();
    clock.advance(0);
    expect(heard).toEqual(["n-1"]);
  });
});
