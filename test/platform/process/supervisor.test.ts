/** The supervisor restarts a service that throws, and ends the process when it keeps throwing. */

import { beforeEach, describe, expect, test } from "vitest";
import { NO_POLICIES } from "../../../protocols/policy-set.ts";
import type { Io, Kube, Service, ServiceName, ShardFollower, WatchSink } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { aloneFleet } from "../../../services/platform/fleet/fleet.ts";
import { UNCONTESTED_LEASES } from "../../../services/platform/kube/election/kube-leases.ts";
import { fixedPolicies } from "../../../services/platform/node-policies/policy-receiver.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { FAILURE_WINDOW_MS, FAILURES_MAX, supervise } from "../../../services/platform/process/supervisor.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { metricValue } from "../../support/metric-value.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { recordingLog } from "../../support/recording-log.ts";

/** An API that holds each request until the test answers it. */
function heldKube() {
  const replies: (() => void)[] = [];
  const sinks: WatchSink<never>[] = [];
  let watching = 0;
  const kube: Kube = {
    watch(_what, sink) {
      watching++;
      sinks.push(sink);
      return {
        state: () => ({ synced: false, since: null }),
        held: () => null,
        confirmedAt: () => null,
        version: () => null,
        relist() {},
        refresh() {},
        stop: () => watching--,
      };
    },
    read: (_ref, done) => replies.push(() => done({ outcome: "failed", detail: "" })),
    readShown: (_what, _ref, done) => replies.push(() => done({ outcome: "failed", detail: "" })),
    write: (_request, done) => replies.push(() => done({ outcome: "failed", detail: "" })),
    minorVersion: (done) => replies.push(() => done(null)),
    leaseHistory: (_from, done) => replies.push(() => done(null)),
    componentLeases: (done) => replies.push(() => done(null)),
  };
  return { kube, replies, sinks, watching: () => watching };
}

let world: ReturnType<typeof createWorld>;
beforeEach(() => {
  world = createWorld();
});

/** One process with a supervisor, its log and its fatal problems. */
function createWorld() {
  const clock = new VirtualClock();
  const log = recordingLog();
  const metrics = createMetrics();
  const transport = memoryTransport(clock);
  const fatal: string[] = [];
  const { kube, ...held } = heldKube();
  const fleet = aloneFleet("m");
  const bus = (service: string) =>
    typedBus({ transport, clock, cluster: "c", service, member: "m", log, metrics, mailboxMessagesMax: 100 });
  const ioOf = (name: ServiceName): Io => {
    const ports = { clock, bus: bus(name), kube, random: seededRandom(1), log, metrics, fleet };
    const policies = fixedPolicies(NO_POLICIES);
    return { ...ports, profile: STANDARD_PROFILE, policies, leases: UNCONTESTED_LEASES };
  };
  const run = (services: Partial<Record<ServiceName, Service>>) =>
    supervise({
      services: new Map(Object.entries(services) as [ServiceName, Service][]),
      ioOf,
      clock,
      log,
      metrics,
      fatal: (problem) => fatal.push(problem),
    });
  return { clock, log, metrics, fatal, bus, run, ...held };
}

const throws = (message: string) => (): never => {
  throw new Error(message);
};

describe("a service is restarted when it throws", () => {
  const places: [string, (io: Io) => void, () => void][] = [
    ["in a timer", (io) => io.clock.after(10, throws("timer")), () => {}],
    ["as soon as it can", (io) => io.clock.soon(throws("soon")), () => {}],
    [
      "on a message",
      (io) => io.bus.subscribe("observed.gone", "all", throws("message")),
      () => world.bus("observer").publish("observed.gone", { node: "n", uid: "u" }, null),
    ],
    [
      "on a watch event",
      (io) => io.kube.watch("nodes", { changed() {}, gone: throws("watch"), state() {} }),
      () => world.sinks[0]?.gone("n", null),
    ],
    [
      "on a reply of the API",
      (io) => io.kube.read({ kind: "Node", namespace: "", name: "n" }, throws("reply")),
      () => world.replies[0]?.(),
    ],
    [
      "on a shard, within its own start",
      (io) => {
        const follower: ShardFollower = { gained: throws("shard"), lost() {} };
        io.fleet.follow("node", follower);
      },
      () => {},
    ],
  ];

  test.each(places)("%s", async (_where, arrange, provoke) => {
    const starts: number[] = [];
    world.run({
      node(io) {
        starts.push(world.clock.monotonicMs());
        if (starts.length === 1) arrange(io);
        return () => {};
      },
    });
    provoke();
    world.clock.advance(10);
    expect(starts).toEqual([0]);
    world.clock.advance(1000);
    expect(starts.length).toBe(2);
    expect(world.log.lines.filter(({ level }) => level === "error").length).toBe(1);
    expect(await metricValue(world.metrics, "vigil_service_restarts_total", { service: "node" })).toBe(1);
    expect(world.fatal).toEqual([]);
  });
});

test("restarts count from 0, so a scrape before the first failure has the series", async () => {
  world.run({ node: () => () => {} });
  expect(await world.metrics.text()).toContain('vigil_service_restarts_total{service="node"} 0');
});

test("no timer, message, reply or watch of an ended run reaches the service", () => {
  const events: string[] = [];
  let life = 0;
  world.run({
    node(io) {
      const mine = ++life;
      const note = (what: string) => () => events.push(`${what} of run ${mine}`);
      io.clock.after(5000, note("timer"));
      io.bus.subscribe("observed.gone", "all", note("message"));
      io.kube.read({ kind: "Node", namespace: "", name: "n" }, note("reply"));
      io.kube.watch("nodes", { changed() {}, gone: note("watch"), state() {} });
      if (mine === 1) io.clock.after(10, throws("bad"));
      return () => {};
    },
  });
  world.clock.advance(1000);
  world.bus("observer").publish("observed.gone", { node: "n", uid: "u" }, null);
  for (const reply of world.replies) reply();
  for (const sink of world.sinks) sink.gone("n", null);
  world.clock.advance(10_000);
  expect(events.sort()).toEqual(["reply", "watch", "message", "timer"].map((what) => `${what} of run 2`).sort());
  expect(world.watching()).toBe(1);
});

test("an exception ends the callback that threw it, even through a port", () => {
  const events: string[] = [];
  world.run({
    node(io) {
      if (events.length > 0) return () => {};
      io.clock.after(10, () => {
        events.push("before");
        io.fleet.follow("node", { gained: throws("shard"), lost() {} });
        events.push("after");
      });
      return () => {};
    },
  });
  world.clock.advance(1000);
  expect(events).toEqual(["before"]);
});

test("the failure of one service does not affect the others", () => {
  const ended: string[] = [];
  world.run({
    node: (io) => {
      io.clock.after(10, throws("bad"));
      return () => ended.push("node");
    },
    zone: () => () => ended.push("zone"),
  });
  world.clock.advance(50);
  expect(ended).toEqual(["node"]);
});

test("repeated failures within a minute are a crash loop, reported once", () => {
  let starts = 0;
  world.run({
    node(io) {
      starts++;
      io.clock.after(1, throws("always"));
      return () => {};
    },
  });
  world.clock.advance(10 * FAILURE_WINDOW_MS);
  expect(starts).toBe(FAILURES_MAX);
  expect(world.fatal).toEqual(["node failed 5 times within 60 s; the last: Error: always"]);
});

test("failures that are far apart are no crash loop", () => {
  let starts = 0;
  world.run({
    node(io) {
      starts++;
      io.clock.after(FAILURE_WINDOW_MS / (FAILURES_MAX - 1), throws("now and then"));
      return () => {};
    },
  });
  world.clock.advance(20 * FAILURE_WINDOW_MS);
  expect(world.fatal).toEqual([]);
  expect(starts).toBeGreaterThan(50);
});

describe("stopping", () => {
  const names: readonly ServiceName[] = [
    "ledger",
    "pod-writer",
    "node-writer",
    "observer",
    "taint-manager",
    "node",
    "zone",
  ];

  test("ends judging services first, then writers, then the ledger", () => {
    const ended: string[] = [];
    const supervisor = world.run(Object.fromEntries(names.map((name) => [name, () => () => ended.push(name)])));
    supervisor.stopJudging();
    expect(ended).toEqual(["zone", "node", "taint-manager", "observer"]);
    supervisor.stop();
    expect(ended.slice(4)).toEqual(["node-writer", "pod-writer", "ledger"]);
  });

  test("ends a service that waits for its restart", () => {
    let starts = 0;
    const supervisor = world.run({
      node(io) {
        starts++;
        io.clock.after(1, throws("bad"));
        return () => {};
      },
    });
    world.clock.advance(1);
    supervisor.stop();
    world.clock.advance(60_000);
    expect(starts).toBe(1);
  });

  test("continues after a service that throws while it ends", () => {
    const ended: string[] = [];
    const supervisor = world.run({ zone: () => throws("stubborn"), node: () => () => ended.push("node") });
    supervisor.stop();
    expect(ended).toEqual(["node"]);
    expect(world.log.lines.map(({ message }) => message)).toEqual(["zone failed while it was stopped"]);
  });
});
