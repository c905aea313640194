/**
 * Scenarios on virtual time: members of a fleet lose the API server and keep the bus. The others go on in their place,
 * and no link that flaps, and no outage that strikes all, moves more than it must.
 */
import { describe, expect, test } from "vitest";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { API_CUTS } from "../sim/api-path.ts";
import { metricValue } from "../support/metric-value.ts";
import type { TestKubelet } from "../support/test-kubelet.ts";
import { type FleetMember, VirtualFleet } from "../support/virtual-fleet.ts";
import { ALL_UNKNOWN, ALL_WELL } from "./spine.ts";

const MEMBERS = ["a", "b", "c"];
const GRACE_MS = 50_000;
/** A member is left out after watchBlindMs and what it takes to agree on it. */
const TAKEOVER_MS = 15_000;
const UNREACHABLE = "node.kubernetes.io/unreachable:NoExecute";
const TOLERATIONS = [
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
];

interface Scene {
  readonly world: VirtualFleet;
  readonly doomed: readonly TestKubelet[];
  readonly observing: FleetMember;
}

/** A fleet of three before twenty nodes that live and six to be stopped, each of which has a pod. */
function scene(members: readonly string[] = MEMBERS): Scene {
  const world = new VirtualFleet();
  for (let index = 0; index < 20; index++) world.addNode({ name: `live-${index}` });
  const doomed = [0, 1, 2, 3, 4, 5].map((index) => world.addNode({ name: `doomed-${index}` }));
  for (const { name } of doomed) world.addPod(name, `pod-of-${name}`, { spec: { tolerations: TOLERATIONS } });
  for (const member of members) world.join(member);
  world.advance(30_000);
  return { world, doomed, observing: world.observing() };
}

const stopAll = (kubelets: readonly TestKubelet[]) => {
  for (const kubelet of kubelets) kubelet.stop();
};

const unknown = ({ world, doomed }: Scene) =>
  doomed.filter(({ name }) => world.conditions(name).join() === ALL_UNKNOWN.join()).length;

const evicted = ({ world, doomed }: Scene) =>
  doomed.filter(({ name }) => {
    const pod = world.read({ kind: "Pod", namespace: "default", name: `pod-of-${name}` });
    return pod === null || pod.metadata.deletionTimestamp !== undefined;
  }).length;

function expectLiveWell({ world }: Scene): void {
  for (let index = 0; index < 20; index++) {
    expect(world.conditions(`live-${index}`)).toEqual(ALL_WELL);
    expect(world.taints(`live-${index}`)).toEqual([]);
  }
}

/** The members by how many shards of a service they own. */
const shares = (world: VirtualFleet, service: "observer" | "node-writer" | "pod-writer" | "ledger" | "node") =>
  [...world.members.values()].map(
    ({ fleet }) =>
      Array.from({ length: SHARD_COUNT }, (_, shard) => shard).filter((shard) => fleet.owns(service, shard)).length,
  );

describe.each(API_CUTS)("the member that observes loses the API server (%s)", (cut) => {
  test("another observes in time, and six nodes that die are found and evicted", () => {
    const setting = scene();
    const { world, doomed, observing } = setting;
    observing.path.sever(cut);
    stopAll(doomed);
    world.advance(TAKEOVER_MS);
    expect(world.observing().name).not.toBe(observing.name);
    world.advance(GRACE_MS + 1_000);
    expect(unknown(setting)).toBe(6);
    // One turn each ten seconds, and thirty seconds of toleration behind the last.
    world.advance(60_000 + 30_000 + 5_000);
    expect(doomed.map(({ name }) => world.taints(name)).every((taints) => taints.includes(UNREACHABLE))).toBe(true);
    expect(evicted(setting)).toBe(6);
    expectLiveWell(setting);
  });

  test("no live node is judged silent, neither in the gap nor after it", () => {
    const setting = scene();
    const { world, observing } = setting;
    const judged = world.hear("judged.node");
    const repair = observing.path.sever(cut);
    world.advance(120_000);
    repair("goOn");
    world.advance(120_000);
    expect(judged.filter(({ body }) => body.readiness === "unknown")).toEqual([]);
    expectLiveWell(setting);
  });

  test("it observes and writes again half a minute after it left, without another count of the silence", () => {
    const setting = scene();
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
  "time in which nobody saw is no silence of a node, also where it was found out late (%s)",
  (cut) => {
    const setting = scene();
    const { world, doomed, observing } = setting;
    const judged = world.hear("judged.node");
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

describe("a member that loses the API server", () => {
  test("owns nothing that needs it within fifteen seconds, and what only judges stays where it is", () => {
    const { world } = scene();
    const [before, cut] = [shares(world, "node"), MEMBERS[1] ?? ""];
    world.members.get(cut)?.path.sever("silent");
    world.advance(TAKEOVER_MS);
    for (const service of ["observer", "node-writer", "pod-writer", "ledger"] as const) {
      const owned = shares(world, service);
      expect([service, owned[1], owned.reduce((sum, count) => sum + count, 0)]).toEqual([service, 0, SHARD_COUNT]);
    }
    expect(shares(world, "node")).toEqual(before);
  });

  test("keeps everything for as long as watchBlindMs", () => {
    const { world, observing } = scene();
    const repair = observing.path.sever("refused");
    world.advance(9_900);
    repair("goOn");
    world.advance(60_000);
    expect(observing.movedMs("node-writer").filter((ms) => ms > 30_000)).toEqual([]);
  });

  test("leaves the writes of its shards to others, which carry them out", () => {
    const setting = scene();
    const { world, doomed } = setting;
    const observer = world.observing().name;
    const [writer = ""] = MEMBERS.filter((member) => member !== observer);
    // The verdicts fall due while the writer is cut off; some are of its shards.
    const its = doomed.filter(({ name: node }) => world.members.get(writer)?.fleet.owns("node-writer", shardOf(node)));
    expect(its.length).toBeGreaterThan(0);
    stopAll(doomed);
    world.advance(GRACE_MS - 1_000);
    world.members.get(writer)?.path.sever("silent");
    world.advance(1_000 + TAKEOVER_MS + 5_000);
    expect(unknown(setting)).toBe(6);
  });

  test("that is the only one that runs a service stays its owner", () => {
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

describe("when nobody is able", () => {
  test("nothing moves in an outage of the API server, neither as it begins nor as it ends", () => {
    const { world } = scene();
    const back = world.api.faults.refuse();
    world.advance(300_000);
    back();
    world.advance(120_000);
    for (const { movedMs } of world.members.values()) {
      for (const service of ["observer", "node-writer", "pod-writer", "ledger"] as const) {
        expect(movedMs(service).filter((ms) => ms > 30_000)).toEqual([]);
      }
    }
  });

  test("nothing moves when every member is cut off within a second, in whatever way", () => {
    const { world } = scene();
    const repairs = API_CUTS.slice(0, 3).map((cut, index) => {
      const repair = world.members.get(MEMBERS[index] ?? "")?.path.sever(cut);
      world.advance(300);
      return repair;
    });
    world.advance(120_000);
    for (const repair of repairs) repair?.("goOn");
    world.advance(60_000);
    for (const { movedMs } of world.members.values())
      expect(movedMs("observer").filter((ms) => ms > 30_000)).toEqual([]);
  });

  test("what the last able member owned stays with it when it is cut off too", () => {
    const { world, observing } = scene();
    for (const { name, path } of world.members.values()) if (name !== observing.name) path.sever("refused");
    world.advance(20_000);
    observing.path.sever("refused");
    world.advance(300_000);
    expect(world.observing().name).toBe(observing.name);
    expect(shares(world, "node-writer").filter((count) => count > 0)).toEqual([SHARD_COUNT]);
  });

  test("the first that is able again takes over", () => {
    const setting = scene();
    const { world, doomed, observing } = setting;
    const repairs = [...world.members.values()].map(({ name, path }) => [name, path.sever("silent")] as const);
    world.advance(60_000);
    const [able, repair] = repairs.find(([name]) => name !== observing.name) ?? [];
    repair?.("goOn");
    stopAll(doomed);
    world.advance(5_000 + 3_000);
    expect(world.observing().name).toBe(able);
    world.advance(GRACE_MS + 1_000);
    expect(unknown(setting)).toBe(6);
  });
});

test("a standby that is cut off itself does not take over", () => {
  const { world, observing } = scene();
  const [standby, other] = [...world.members.values()].filter(({ name }) => name !== observing.name);
  standby?.path.sever("silent");
  world.advance(20_000);
  observing.path.sever("silent");
  world.advance(TAKEOVER_MS);
  expect(world.observing().name).toBe(other?.name);
  expect(standby?.movedMs("observer").filter((ms) => ms > 50_000)).toEqual([]);
});

test("the member that took over dies: one that is cut off owns again what nobody else could", () => {
  const { world, observing } = scene(["a", "b"]);
  observing.path.sever("silent");
  world.advance(TAKEOVER_MS);
  world.observing().kill();
  world.advance(5_000);
  expect(world.observing().name).toBe(observing.name);
});

test("a link that flaps moves shards at most once in half a minute, and the dead are found all the same", () => {
  const setting = scene();
  const { world, doomed, observing } = setting;
  stopAll(doomed);
  for (let cycle = 0; cycle < 30; cycle++) {
    const repair = observing.path.sever(cycle % 2 === 0 ? "silent" : "refused");
    world.advance(14_000);
    repair("break");
    world.advance(7_000);
  }
  const moves = observing.movedMs("node-writer").filter((ms) => ms > 30_000);
  expect(moves.length).toBeGreaterThan(1);
  expect(moves.slice(1).filter((ms, index) => ms - (moves[index] ?? 0) < 30_000)).toEqual([]);
  expect(unknown(setting)).toBe(6);
  expectLiveWell(setting);
});

test("an overloaded API server makes nobody unable: 429 is an answer", () => {
  const { world } = scene();
  world.api.faults.add({ fault: { kind: "status", code: 429, retryAfterSeconds: 1 } });
  world.advance(60_000);
  expect([...world.members.values()].map(({ reachability }) => reachability.report().able)).toEqual([true, true, true]);
});

test("a slow API server makes nobody unable: answers after five seconds are answers", () => {
  const { world } = scene();
  for (const { path } of world.members.values()) path.slow({ get: 5_000, list: 5_000, patch: 5_000, delete: 5_000 });
  world.advance(120_000);
  expect([...world.members.values()].map(({ reachability }) => reachability.report().able)).toEqual([true, true, true]);
});

test("the log, the metric and the report of a member tell that it is cut off", async () => {
  const { world, observing } = scene();
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
