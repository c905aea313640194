/** What `vigil run` says about upstream's controllers and about its grace period, from the API and the bus. */
import { describe, expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { SERVICE_NAMES, type ServiceName, type Wire } from "../../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { graceProblem, RenewalPeriod } from "../../../services/cli/run/grace.policy.ts";
import {
  eventSourcesOf,
  isUnanswered,
  signInChange,
  signInEvents,
  signInNodes,
  type UpstreamKnowledge,
  type UpstreamStance,
  upstreamFinding,
} from "../../../services/cli/run/upstream.policy.ts";
import { UpstreamWatch } from "../../../services/cli/run/upstream-watch.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { condition, nodeWith, taint } from "../../node/node-fixtures.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { recordingLog } from "../../support/recording-log.ts";

const AT = Date.UTC(2026, 0, 1);
const TIME = "2026-01-01T00:00:00Z";
const SECOND = 1000;
const NOW = AT + 60 * SECOND;
const [UNREACHABLE, NOT_READY] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"];
const managedBy = (...managers: string[]) => managers.map((manager) => ({ manager, operation: "Update", time: TIME }));
const event = (metadata: object, fields: object = {}) => ({
  metadata,
  reason: "RegisteredNode",
  source: { component: "node-controller" },
  involvedObject: { kind: "Node" },
  lastTimestamp: TIME,
  ...fields,
});
const aboutPod = { involvedObject: { kind: "Pod" } };
const taintedBy = (manager: string, fieldsV1: object) => ({
  metadata: { name: "n", managedFields: [{ manager, operation: "Update", time: TIME, fieldsV1 }] },
});
const TAINTS = { "f:spec": { "f:taints": {} } };

describe("an Event shows upstream", () => {
  test.each([
    ["if kube-controller-manager wrote it", event({ managedFields: managedBy("kube-controller-manager") }), AT],
    [
      "by the time of its series or its creation",
      event(
        { managedFields: managedBy("kube-controller-manager"), creationTimestamp: "2026-01-01T00:00:09Z" },
        { lastTimestamp: null },
      ),
      AT + 9 * SECOND,
    ],
    ["not if Vigil wrote it", event({ managedFields: managedBy("vigil") }), undefined],
    ["not without its managers", event({}), undefined],
    ["not without a time", event({ managedFields: managedBy("x") }, { lastTimestamp: "soon" }), undefined],
    [
      "as of now if it says later",
      event({ managedFields: managedBy("x") }, { lastTimestamp: "2999-01-01T00:00:00Z" }),
      NOW,
    ],
    ["not of the node controller about a pod", event({ managedFields: managedBy("x") }, aboutPod), undefined],
    ["not if it is none", "junk", undefined],
  ])("%s", (_what, raw, at) => expect(signInEvents([raw], NOW)?.at).toBe(at));

  test("in one line, whatever it holds", () => {
    const hostile = event({ managedFields: managedBy("kube-controller-manager") }, { reason: `\n${"a".repeat(500)}` });
    expect(signInEvents([hostile], NOW)?.text).toMatch(/^Event \\na{99} of node-controller$/);
  });
});

test.each([
  ["written by kube-controller-manager", taintedBy("kube-controller-manager", TAINTS), AT],
  ["written by Vigil", taintedBy("vigil", TAINTS), undefined],
  ["that are none", taintedBy("kube-controller-manager", { "f:spec": { "f:podCIDR": {} } }), undefined],
  ["of junk", { metadata: { managedFields: [null, { fieldsV1: 7 }] } }, undefined],
])("taints %s show upstream: %#", (_what, raw, at) => expect(signInNodes([raw], NOW)?.at).toBe(at));

describe("a node is unanswered", () => {
  test.each<[string, ObservedNode, boolean]>([
    ["while it is Unknown without upstream's taint", nodeWith("Unknown"), true],
    ["not with that taint", nodeWith("Unknown", { taints: [taint(UNREACHABLE, "NoSchedule")] }), false],
    ["with the other taint", nodeWith("False", { taints: [taint(UNREACHABLE, "NoSchedule")] }), true],
    ["not while it is ready", nodeWith("True"), false],
    ["not while only shadow mode shows it Unknown", nodeWith("Unknown", { shadow: {} }), false],
    ["not before it has posted Ready", nodeWith(null), false],
  ])("%s", (_what, node, isSo) => expect(isUnanswered(node)).toBe(isSo));

  test("until its taint shows upstream, but not if it heals", () => {
    const answered = nodeWith("Unknown", { taints: [taint(UNREACHABLE, "NoSchedule")] });
    expect(signInChange(nodeWith("Unknown"), answered, AT)).toMatchObject({ at: AT });
    expect(signInChange(nodeWith("Unknown"), nodeWith("True"), AT)).toBeNull();
    expect(signInChange(answered, answered, AT)).toBeNull();
  });
});

describe("the finding", () => {
  const sign = { at: AT, text: "Event X of node-controller" };
  const known: UpstreamKnowledge = {
    sign: null,
    unanswered: null,
    unreadable: null,
    startedAt: AT,
    wallMs: AT + SECOND,
    nowMs: 0,
  };
  const finding = (stance: Partial<UpstreamStance>, knowledge: Partial<UpstreamKnowledge> = {}) =>
    upstreamFinding(
      { upstream: "replace", shadow: false, services: SERVICE_NAMES, ...stance },
      { ...known, ...knowledge },
    );

  test.each<[string, Partial<UpstreamStance>, Partial<UpstreamKnowledge>, string, boolean]>([
    ["in its place, seen", {}, { sign }, "both", true],
    ["in its place, seen before", {}, { sign, startedAt: AT + 1 }, "before", true],
    ["in its place, seen an hour ago", {}, { sign, wallMs: AT + 3600 * SECOND }, "none", false],
    ["in its place, never seen", {}, {}, "none", false],
    ["in shadow, seen", { shadow: true }, { sign }, "seen", false],
    ["beside it, seen", { upstream: "beside" }, { sign }, "seen", false],
    ["beside it, never seen", { upstream: "beside" }, {}, "unseen", true],
    [
      "beside it, a node without its taint for a minute",
      { upstream: "beside" },
      { sign, unanswered: { node: "n", sinceMs: 0 }, nowMs: 60 * SECOND },
      "nobody",
      true,
    ],
    [
      "beside it, a node without its taint for less",
      { upstream: "beside" },
      { sign, unanswered: { node: "n", sinceMs: 1 }, nowMs: 60 * SECOND },
      "seen",
      false,
    ],
  ])("%s", (_what, stance, knowledge, kind, isWarning) => {
    expect(finding(stance, knowledge)).toMatchObject({ kind, isWarning });
  });

  test("names the sign and the fix", () => {
    expect(finding({}, { sign }).text).toBe(
      "upstream's controllers do Vigil's work too: Event X of node-controller at 2026-01-01T00:00:00Z; " +
        "switch upstream's controllers off, or run Vigil with --upstream=beside",
    );
    expect(finding({}, { sign, startedAt: AT + 1 }).text).toContain("at work before this process started: Event X");
    expect(finding({ upstream: "beside" }, { unreadable: "forbidden" }).text).toBe(
      "no sign of upstream's controllers yet, and Events cannot be read (forbidden); " +
        "if they are switched off, no controller taints and evicts",
    );
  });

  test("rests on the controllers whose work the process does", () => {
    const sources = (services: readonly ServiceName[], upstream = "replace") =>
      eventSourcesOf({ services, upstream, shadow: false });
    expect(sources(["observer", "node"])).toEqual(["node-controller"]);
    expect(sources(["observer", "taint-manager"])).toEqual(["taint-eviction-controller", "taint-controller"]);
    expect(sources(["observer", "node"], "beside")).toHaveLength(3);
  });
});

describe("the grace period", () => {
  const problem = (nodeMonitorGraceMs: number, periodMs: number | null, pulses: Partial<Profile> = {}) =>
    graceProblem({ ...STANDARD_PROFILE, nodeMonitorGraceMs, ...pulses }, periodMs);

  test("must last for two renewals", () => {
    expect(problem(20_000, 10_000)).toBeNull();
    expect(problem(1, null)).toBeNull();
    expect(problem(19_999, 10_000)).toBe(
      "--node-monitor-grace-period=19s999ms: kubelets renew their leases every 10s, so healthy nodes would become " +
        "Unknown; give at least 20s",
    );
  });

  test("must last until lost pulses are noticed", () => {
    const slow = { pulsePeriodMs: 5_000, pulseTimeoutMs: 25_000, watchBlindMs: 10_000 };
    expect(problem(25_000, 10_000, slow)).toBeNull();
    expect(problem(24_000, 10_000, slow)).toBe(
      "--node-monitor-grace-period=24s: kubelets renew their leases every 10s, and lost pulses are noticed after 15s, " +
        "so healthy nodes would become Unknown; give at least 25s, or a shorter --pulse-timeout",
    );
    expect(problem(15_000, 10_000, slow)).toContain("and lost pulses are noticed after 15s");
  });

  test("is held against the duration that most leases have", () => {
    const period = new RenewalPeriod();
    expect(period.ms).toBeNull();
    const lease = (leaseDurationSeconds: unknown) => ({ spec: { leaseDurationSeconds } });
    period.onLeases([lease(40), lease(40), lease(4_000_000), lease("x"), null]);
    expect(period.ms).toBe(10_000);
  });

  test("is held against slower renewals that were seen", () => {
    const period = new RenewalPeriod();
    period.onLeases([{ spec: { leaseDurationSeconds: 40 } }]);
    const renew = (node: string, at: number) => period.onHeartbeat({ node, kind: "lease", renewedAt: at });
    for (let beat = 0; beat <= 14; beat++) renew("a", AT + beat * 20_800);
    expect(period.ms).toBe(10_000);
    renew("a", AT + 15 * 20_800);
    expect(period.ms).toBe(20_000);
    for (let beat = 0; beat < 300; beat++) renew("b", AT + beat * 5_000);
    expect(period.ms).toBe(10_000);
  });

  test("ignores intervals across an outage or a clock set back", () => {
    const period = new RenewalPeriod();
    for (let beat = 0; beat < 30; beat++)
      period.onHeartbeat({ node: "a", kind: "lease", renewedAt: AT + beat * 60_000 });
    for (let beat = 0; beat < 30; beat++) period.onHeartbeat({ node: "a", kind: "lease", renewedAt: AT - beat });
    expect(period.ms).toBeNull();
  });
});

/** A watch on virtual time; the API answers each path as given, and refuses the others. */
function watchWorld(upstream: string, answers: Readonly<Record<string, readonly object[]>> = {}) {
  const clock = new VirtualClock();
  const log = recordingLog();
  const asked: string[] = [];
  const wire: Wire = {
    send: ({ path }, exchange) => {
      asked.push(path);
      const items = Object.entries(answers).find(([part]) => path.includes(part))?.[1];
      clock.soon(() => {
        exchange.response(items === undefined ? 403 : 200, {});
        exchange.data(Buffer.from(JSON.stringify({ items })));
        exchange.end();
      });
      return { abort: () => {} };
    },
  };
  const common = {
    transport: memoryTransport(clock),
    clock,
    cluster: "test",
    member: "m",
    log,
    metrics: createMetrics(),
  };
  const bus = (service: string) => typedBus({ ...common, service, mailboxMessagesMax: 1_000 });
  const profile = { ...STANDARD_PROFILE, upstream };
  const { metrics } = common;
  const watch = new UpstreamWatch({ wire, clock, log, metrics, profile, services: SERVICE_NAMES, shadow: false });
  watch.start(bus("upstream"));
  const observer = bus("observer");
  const settle = async (ms: number): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) {
      clock.advance(turn === 0 ? ms : 0);
      await Promise.resolve();
      await new Promise(setImmediate);
    }
  };
  const observe = (node: ObservedNode) => observer.publish("observed.node", node, null);
  const mismatch = () => metrics.gaugeValue("vigil_upstream_mismatch");
  const renew = (node: string, renewedAt: number): void => {
    const heartbeat = { node, kind: "lease" as const, renewedAt, seenAt: clock.wallMs() };
    observer.publish("observed.lease", { shard: 0, heartbeats: [heartbeat] }, null);
    clock.advance(0);
  };
  return {
    watch,
    settle,
    observe,
    renew,
    mismatch,
    asked,
    said: () => log.lines.map(({ level, message }) => `${level}: ${message}`),
  };
}

describe("the watch", () => {
  const living = { "source%3Dnode-controller": [event({ managedFields: managedBy("kube-controller-manager") })] };

  test("warns once where upstream does the same, in the probe too", async () => {
    const world = watchWorld("replace", living);
    await world.settle(SECOND);
    await world.settle(600 * SECOND);
    expect(world.said()).toEqual([expect.stringContaining("warn: upstream's controllers do Vigil's work too")]);
    expect(world.mismatch()).toBe(1);
    expect(world.watch.checks()).toMatchObject([
      { name: "upstream", problem: null, note: expect.stringContaining("--upstream=beside") },
      { name: "grace", problem: null },
    ]);
  });

  test("forgets a forged Event an hour after its last read", async () => {
    const forged = { source: { component: "taint-eviction-controller" }, lastTimestamp: "2999-01-01T00:00:00Z" };
    const answers: Record<string, object[]> = {
      "source%3Dtaint-eviction-controller": [
        event({ managedFields: managedBy("kubectl") }, { ...forged, ...aboutPod }),
      ],
    };
    const world = watchWorld("replace", answers);
    await world.settle(SECOND);
    expect(world.mismatch()).toBe(1);
    delete answers["source%3Dtaint-eviction-controller"];
    await world.settle(3590 * SECOND);
    expect(world.mismatch()).toBe(1);
    await world.settle(20 * SECOND);
    expect(world.mismatch()).toBe(0);
  });

  test("beside upstream reports a node untainted for a minute, while so", async () => {
    const world = watchWorld("beside", { ...living, nodes: [] });
    await world.settle(SECOND);
    world.observe(nodeWith("Unknown"));
    await world.settle(50 * SECOND);
    expect(world.said()).toEqual([expect.stringContaining("info: upstream was last seen by Event")]);
    await world.settle(20 * SECOND);
    expect(world.said().at(-1)).toContain("warn: no controller taints and evicts: node node-1 has not been ready for");
    world.observe(nodeWith("Unknown", { taints: [taint(UNREACHABLE, "NoSchedule")] }));
    await world.settle(10 * SECOND);
    expect(world.said().at(-1)).toContain("info: upstream was last seen by taint");
    expect(world.mismatch()).toBe(0);
  });

  test("samples renewals, and warns of a grace too short for them", async () => {
    const world = watchWorld("replace", living);
    for (let beat = 0; beat < 300; beat++) world.renew("a", AT + beat * 30_000);
    await world.settle(10 * SECOND);
    const said = /^warn: --node-monitor-grace-period=50s: kubelets renew .* every 28\.8s/;
    expect(world.said()).toContainEqual(expect.stringMatching(said));
    expect(world.watch.checks()[1]?.note).toContain("give at least 58s");
    for (let beat = 0; beat < 300; beat++) world.renew("a", AT + beat * 10_000);
    await world.settle(10 * SECOND);
    expect(world.watch.checks()[1]?.note).toContain("give at least 58s");
    await world.settle(1800 * SECOND);
    for (let beat = 0; beat < 300; beat++) world.renew("b", AT + beat * 10_000);
    expect(world.watch.checks()[1]?.note).toBeUndefined();
  });

  test("beside upstream warns without a sign, and of a missing right", async () => {
    const world = watchWorld("beside");
    await world.settle(SECOND);
    expect(world.said()).toEqual([expect.stringMatching(/^warn: no sign of upstream's controllers yet, and Events/)]);
  });

  test("reads the API at its start and every half hour until stopped", async () => {
    const world = watchWorld("replace");
    await world.settle(1799 * SECOND);
    const first = world.asked.length;
    expect(world.asked.map((path) => path.split("?")[0])).toEqual(
      ["events", "events", "events", "nodes"].map((plural) => `/api/v1/${plural}`),
    );
    await world.settle(2 * SECOND);
    expect(world.asked).toHaveLength(2 * first);
    world.watch.stop();
    await world.settle(3600 * SECOND);
    expect(world.asked).toHaveLength(2 * first);
  });

  test("takes a NotReady node in place of upstream for Vigil's own work", async () => {
    const world = watchWorld("replace");
    world.observe(
      nodeWith("False", { conditions: [condition("Ready", "False")], taints: [taint(NOT_READY, "NoExecute")] }),
    );
    await world.settle(120 * SECOND);
    expect(world.said()).toEqual([]);
  });
});
