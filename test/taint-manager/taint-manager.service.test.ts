/** The taint-manager beside other processes: blindness, takeovers, replaced nodes. */
import { describe, expect, test } from "vitest";
import { Annotation } from "../../protocols/names.ts";
import type { Toleration } from "../../protocols/objects.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { apiMicroTime, apiTime } from "../../services/domain/api-time.ts";
import { taintManagerService } from "../../services/taint-manager/taint-manager.service.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { HandFleet } from "../support/hand-fleet.ts";

const S = 1000;
/** How often observers pulse in the world of these tests. */
const PULSE_MS = 5 * S;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const tolerating: Toleration[] = [
  { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 },
];

describe("while blind", () => {
  test("a deadline without an observer is met as soon as one pulses again", () => {
    const world = new EvictionWorld();
    const { observer, ...rest } = EVICTING;
    world.addZone("a", 3);
    world.addTolerantPod("a-0", "pod", tolerating);
    world.start(rest, { member: "rest" });
    const observing = world.start(observer === undefined ? {} : { observer }, { member: "observer" });
    world.advance(10 * S);
    world.taint("a-0", [MAINTENANCE]);
    world.advance(30 * S);
    observing.kill();
    world.advance(90 * S);
    expect(world.published("asked.eviction")).toEqual([]);
    const backMs = world.clock.monotonicMs();
    world.start(observer === undefined ? {} : { observer }, { member: "new-observer" });
    // The first pulse of a new observer may have waited in a socket during a standstill; the second did not.
    world.advance(PULSE_MS + S);
    expect(world.deletedAt("pod")).toBeLessThanOrEqual(backMs + PULSE_MS);
    expect(world.deleted).toHaveLength(1);
  });

  test("no pod is evicted until the watch of pods is synced", () => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    world.addTolerantPod("a-0", "pod", tolerating);
    world.run();
    world.advance(10 * S);
    world.taint("a-0", [MAINTENANCE]);
    world.advance(30 * S);
    const mend = world.api.faults.refuse();
    world.advance(60 * S);
    expect(world.published("asked.eviction")).toEqual([]);
    mend();
    world.advance(60 * S);
    expect(world.published("asked.eviction").length).toBeGreaterThan(0);
    expect(world.read({ kind: "Pod", namespace: "default", name: "pod" })?.metadata.deletionTimestamp).toBeDefined();
  });
});

test("a process that takes over a shard meets its deadlines; the old one stops", () => {
  const world = new EvictionWorld();
  const { "taint-manager": _taintManager, ...rest } = EVICTING;
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod", tolerating);
  world.start(rest, { member: "rest" });
  const fleets = ["one", "two"].map((member) => new HandFleet(member));
  for (const fleet of fleets) world.start({ "taint-manager": taintManagerService }, { member: fleet.member, fleet });
  const shard = shardOf("a-0");
  fleets[0]?.set("taint-manager", shard, true);
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(30 * S);
  fleets[0]?.set("taint-manager", shard, false);
  fleets[1]?.set("taint-manager", shard, true);
  world.advance(120 * S);
  expect(world.deletedAt("pod")).toBe(70 * S);
  expect(world.published("asked.eviction").map(({ source }) => source)).toEqual(["taint-manager@two"]);
});

test("a start that the API contradicts is recorded after ten seconds", () => {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod", tolerating);
  world.run();
  world.advance(12 * S);
  world.taint("a-0", [{ ...MAINTENANCE, timeAdded: apiTime(world.clock.wallMs() + 300 * S) }]);
  world.advance(9 * S);
  expect(world.published("asked.label")).toEqual([]);
  world.advance(2 * S);
  const startAt = apiMicroTime(world.clock.wallMs() - 11 * S);
  expect(world.published("asked.label").map(({ body }) => body.annotations)).toEqual([
    { [Annotation.taintsSeen]: JSON.stringify({ "maintenance:NoExecute": startAt }) },
  ]);
  world.advance(60 * S);
  expect(world.deletedAt("pod")).toBe(72 * S);
});

describe("a ledger's request for a resync", () => {
  const requested = (service: "ledger" | "zone", taint: typeof MAINTENANCE | null, tolerations = tolerating) => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    world.addTolerantPod("a-0", "pod", tolerations);
    world.api.faults.add({ fault: { kind: "status", code: 500 }, when: ({ verb }) => verb === "delete" });
    world.run();
    world.advance(10 * S);
    if (taint !== null) world.taint("a-0", [taint]);
    world.advance(10 * S);
    const before = world.published("judged.pod");
    const id = world.busOf(service, "other").publish("asked.resync", { shard: shardOf("a-0"), reason: "new" }, null);
    world.advance(S);
    return { id, before, after: world.published("judged.pod").slice(before.length) };
  };

  test("publishes the deadline of each pod again", () => {
    const { id, before, after } = requested("ledger", MAINTENANCE);
    expect(after.map(({ body }) => body)).toEqual(before.map(({ body }) => body));
    expect(after).toMatchObject([{ cause: id, body: { name: "pod", eviction: "pending" } }]);
  });

  test("publishes since when an intolerant pod is due", () => {
    const { before, after } = requested("ledger", MAINTENANCE, []);
    expect(after.map(({ body }) => body)).toEqual(before.map(({ body }) => body));
    expect(after).toMatchObject([{ body: { name: "pod", eviction: "due" } }]);
  });

  test("publishes nothing of a pod without a taint", () => {
    expect(requested("ledger", null).after).toEqual([]);
  });

  test("does so alone: nobody else keeps deadlines", () => {
    expect(requested("zone", MAINTENANCE).after).toEqual([]);
  });
});

test("a node replaced under its name starts new countdowns", () => {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod", tolerating);
  world.run();
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(40 * S);
  world.silence(["a-0"]);
  world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name: "a-0" }, urgency: 0 });
  world.register("a-0", { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a" });
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  const taintedMs = world.clock.monotonicMs();
  world.advance(200 * S);
  expect(world.deletedAt("pod")).toBe(taintedMs + 60 * S);
});
