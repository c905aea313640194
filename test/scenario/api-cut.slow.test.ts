/**
 * Scenarios on virtual time: one member of a fleet loses the API server and keeps the bus. The others observe and write
 * in its place.
 */
import { describe, expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { API_CUTS } from "../sim/api-path.ts";
import { metricValue } from "../support/metric-value.ts";
import { VirtualFleet } from "../support/virtual-fleet.ts";
import {
  evicted,
  expectLiveWell,
  expectOneOwnerEach,
  fixture,
  GRACE_MS,
  MEMBERS,
  OF_API,
  shares,
  stopAll,
  TAKEOVER_MS,
  unknown,
} from "./api-cut.fixture.ts";

const UNREACHABLE = "node.kubernetes.io/unreachable:NoExecute";

describe.each(API_CUTS)("the observing member is cut off (%s)", (cut) => {
  test("another observes; six dead nodes are found", () => {
    const setting = fixture();
    const { world, doomed, observing } = setting;
    observing.path.sever(cut);
    stopAll(doomed);
    world.advance(TAKEOVER_MS);
    expect(world.observing().name).not.toBe(observing.name);
    world.advance(GRACE_MS + 1_000);
    expect(unknown(setting)).toBe(6);
    // One grant every ten seconds; the last pod tolerates its taint for thirty more.
    world.advance(60_000 + 30_000 + 5_000);
    expect(doomed.map(({ name }) => world.taints(name)).every((taints) => taints.includes(UNREACHABLE))).toBe(true);
    expect(evicted(setting)).toBe(6);
    expectLiveWell(setting);
  });

  test("no live node is found silent, then or later", () => {
    const setting = fixture();
    const { world, observing } = setting;
    const judged = world.received("judged.node");
    const repair = observing.path.sever(cut);
    world.advance(120_000);
    repair("goOn");
    world.advance(120_000);
    expect(judged.filter(({ body }) => body.readiness === "unknown")).toEqual([]);
    expectLiveWell(setting);
  });

  test("it observes again later; silence counts on", () => {
    const setting = fixture();
    const { world, doomed, observing } = setting;
    const repair = observing.path.sever(cut);
    world.advance(20_000);
    stopAll(doomed);
    repair("goOn");
    world.advance(40_000);
    expect(world.observing().name).toBe(observing.name);
    world.advance(11_000);
    expect(unknown(setting)).toBe(6);
    expectLiveWell(setting);
  });
});

test.each(["replies", "silent", "refused"] as const)(
  "time in which no member observed does not count as silence (%s)",
  (cut) => {
    const setting = fixture();
    const { world, doomed, observing } = setting;
    const judged = world.received("judged.node");
    stopAll(doomed);
    world.advance(35_000);
    observing.path.sever(cut);
    world.advance(120_000);
    const tookOverMs = world.observing().movedMs("observer").at(-1) ?? 0;
    expect(tookOverMs).toBeGreaterThan(65_000 + 10_000);
    const silentMs = judged.filter(({ body }) => body.readiness === "unknown").map(({ atMs }) => atMs);
    expect(silentMs.length).toBeGreaterThanOrEqual(6);
    expect(Math.min(...silentMs)).toBeGreaterThan(tookOverMs + GRACE_MS);
    expect(Math.min(...silentMs)).toBeLessThan(tookOverMs + GRACE_MS + 1_000);
  },
);

describe("a member cut off", () => {
  test("loses its API services within 15 s and keeps its judging shards", () => {
    const { world } = fixture();
    const [before, cut] = [shares(world, "node"), MEMBERS[1] ?? ""];
    world.members.get(cut)?.path.sever("silent");
    world.advance(TAKEOVER_MS);
    for (const service of OF_API) expect([service, shares(world, service)[1]]).toEqual([service, 0]);
    expectOneOwnerEach(world);
    expect(shares(world, "node")).toEqual(before);
  });

  test("gets no shard, and gets shards again once it is back", () => {
    const { world, observing } = fixture();
    const repair = observing.path.sever("silent");
    world.advance(20_000);
    const joined = world.join("d");
    world.advance(5_000);
    expectOneOwnerEach(world);
    expect(OF_API.map((service) => observing.fleet.owns(service, 0))).toEqual(OF_API.map(() => false));
    expect(joined.movedMs("node-writer").length).toBe(1);
    repair("break");
    world.advance(60_000);
    expectOneOwnerEach(world);
    expect(Math.min(...shares(world, "node-writer"))).toBeGreaterThan(0);
  });

  test("for less than watchBlindMs keeps every shard", () => {
    const { world, observing } = fixture();
    const repair = observing.path.sever("refused");
    world.advance(9_900);
    repair("goOn");
    world.advance(60_000);
    expect(observing.movedMs("node-writer").filter((ms) => ms > 30_000)).toEqual([]);
  });

  test("leaves its writes to other members, which carry them out", () => {
    const setting = fixture();
    const { world, doomed } = setting;
    const observer = world.observing().name;
    const [writer = ""] = MEMBERS.filter((member) => member !== observer);
    // The verdicts fall due while the writer is cut off. Some are in its shards.
    const its = doomed.filter(({ name: node }) => world.members.get(writer)?.fleet.owns("node-writer", shardOf(node)));
    expect(its.length).toBeGreaterThan(0);
    stopAll(doomed);
    world.advance(GRACE_MS - 1_000);
    world.members.get(writer)?.path.sever("silent");
    world.advance(1_000 + TAKEOVER_MS + 5_000);
    expect(unknown(setting)).toBe(6);
  });

  test("stays the owner of a service that no other member runs", () => {
    const world = new VirtualFleet();
    world.addNode({ name: "node-1" });
    world.join("a");
    world.join("b", ["node", "zone", "taint-manager"]);
    world.advance(30_000);
    world.members.get("a")?.path.sever("refused");
    world.advance(120_000);
    expect(world.ownersOf("observer", 0)).toEqual(["a"]);
    expect(world.ownersOf("node-writer", 0)).toEqual(["a"]);
  });
});

test("a standby that is cut off itself does not take over", () => {
  const { world, observing } = fixture();
  const [standby, other] = [...world.members.values()].filter(({ name }) => name !== observing.name);
  standby?.path.sever("silent");
  world.advance(20_000);
  observing.path.sever("silent");
  world.advance(TAKEOVER_MS);
  expect(world.observing().name).toBe(other?.name);
  expect(standby?.movedMs("observer").filter((ms) => ms > 50_000)).toEqual([]);
});

test("a cut-off member takes its shards back when the only able member dies", () => {
  const { world, observing } = fixture(["a", "b"]);
  observing.path.sever("silent");
  world.advance(TAKEOVER_MS);
  world.observing().kill();
  world.advance(5_000);
  expect(world.observing().name).toBe(observing.name);
});

test("the log, the metric and the report show that a member is cut off", async () => {
  const { world, observing } = fixture();
  const repair = observing.path.sever("refused");
  world.advance(TAKEOVER_MS);
  expect(observing.reachability.report()).toMatchObject({ able: false, problem: "connect ECONNREFUSED" });
  expect(await metricValue(observing.metrics, "vigil_api_reachable")).toBe(0);
  const warned = observing.log.lines.filter(({ message }) => message.startsWith("the API server cannot be reached"));
  expect(warned.length).toBe(1);
  repair("goOn");
  world.advance(6_500);
  expect(observing.reachability.report()).toMatchObject({ able: true, failingForMs: 0 });
  expect(await metricValue(observing.metrics, "vigil_api_reachable")).toBe(1);
});
