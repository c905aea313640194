/**
 * Scenarios of NoExecute taints with a wrong `timeAdded`: set by hand, by a foreign controller, by a clock that is off.
 */
import { describe, expect, test } from "vitest";
import type { ServiceName } from "../../protocols/ports.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { policyService } from "../../services/policy/policy.service.ts";
import { EVICTING, EvictionWorld, NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";
import type { StartOptions, VirtualProcess } from "../support/virtual-cluster.ts";

const S = 1000;
const MINUTE = 60 * S;
const NODE = "a-0";
const STARTS = "vigil.v1/taints-seen";
/** How much later than due a pod may go: the time of a read and two writes. */
const LATE_MS = S;
/** How far a deadline may move. */
const MOVED_MS = S;

const tolerating = (key: string, tolerationSeconds: number) => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds,
});

/** Five nodes. The pod on the first tolerates maintenance for a minute and our taints for five. */
function cluster(): EvictionWorld {
  const world = new EvictionWorld({ pulsePeriodMs: 1000, pulseTimeoutMs: 4000 });
  world.addZone("a", 5);
  const tolerations = [["maintenance", 60] as const, [NOT_READY, 300] as const, [UNREACHABLE, 300] as const];
  world.addTolerantPod(
    NODE,
    "pod",
    tolerations.map(([key, seconds]) => tolerating(key, seconds)),
  );
  return world;
}

/** Sets the maintenance taint with a stamp this far from now. */
function maintain(world: EvictionWorld, aheadMs: number): void {
  const timeAdded = apiTime(world.clock.wallMs() + aheadMs);
  world.taint(NODE, [{ key: "maintenance", effect: "NoExecute", timeAdded }]);
}

function annotation(world: EvictionWorld): string | undefined {
  const annotations = world.read({ kind: "Node", namespace: "", name: NODE })?.metadata.annotations;
  return (annotations as Record<string, string> | undefined)?.[STARTS];
}

/** Asserts that the pod is deleted when it is due, within what a deadline may move. */
function expectGone(world: EvictionWorld, dueMs: number): void {
  expect(world.deletedAt("pod")).toBeGreaterThanOrEqual(dueMs - MOVED_MS);
  expect(world.deletedAt("pod")).toBeLessThanOrEqual(dueMs + MOVED_MS + LATE_MS);
}

const DAY = 24 * 60 * MINUTE;
const STAMPS: readonly (readonly [string, number])[] = [
  ["in 1970", -56 * 365 * DAY],
  ["ten minutes ago", -10 * MINUTE],
  ["in ten minutes", 10 * MINUTE],
  ["in 2099", 73 * 365 * DAY],
];

describe("a taint set by hand", () => {
  test.each(STAMPS)("stamped %s counts from when it appeared", (_what, aheadMs) => {
    const world = cluster();
    world.run();
    world.advance(2 * MINUTE);
    maintain(world, aheadMs);
    const appearedMs = world.clock.monotonicMs();
    world.advance(3 * MINUTE);
    expectGone(world, appearedMs + MINUTE);
  });

  test.each(STAMPS)("stamped %s counts on from there after a restart", (_what, aheadMs) => {
    const world = cluster();
    world.run();
    world.advance(2 * MINUTE);
    maintain(world, aheadMs);
    const appearedMs = world.clock.monotonicMs();
    world.advance(20 * S);
    world.crash(10 * S);
    world.advance(3 * MINUTE);
    expectGone(world, appearedMs + MINUTE);
  });

  test("with a right stamp needs no annotation", () => {
    const world = cluster();
    world.run();
    world.advance(2 * MINUTE + 300);
    maintain(world, 0);
    world.advance(30 * S);
    expect(annotation(world)).toBeUndefined();
  });

  test.each([
    ["in 2099 counts from when Vigil first observes it", 73 * 365 * DAY, 30 * S],
    ["ten minutes ago counts from its stamp", -10 * MINUTE, -10 * MINUTE],
    ["before its node was created counts from the node's creation", -DAY, -15 * MINUTE],
  ])("before Vigil started, stamped %s", (_what, aheadMs, sinceMs) => {
    const world = cluster();
    world.addTolerantPod(NODE, "patient", [tolerating("maintenance", 1200)]);
    world.advance(15 * MINUTE);
    maintain(world, aheadMs);
    const addedMs = world.clock.monotonicMs();
    world.advance(30 * S);
    world.run();
    world.advance(22 * MINUTE);
    const dueMs = Math.max(addedMs + sinceMs, 0) + 20 * MINUTE;
    expect(world.deletedAt("patient")).toBeGreaterThanOrEqual(dueMs - MOVED_MS);
    expect(world.deletedAt("patient")).toBeLessThanOrEqual(dueMs + MOVED_MS + LATE_MS);
  });
});

describe("a taint restamped every 3 s", () => {
  /** Stamps the taint again for this long, each time this far ahead of the clock. */
  const stampOn = (world: EvictionWorld, forMs: number, aheadMs: number): void => {
    for (let passedMs = 0; passedMs < forMs; passedMs += 3 * S) {
      maintain(world, aheadMs);
      world.advance(3 * S);
    }
  };

  test.each([
    ["with the present time", 0],
    ["with a past time", -10 * MINUTE],
    ["with a future time", 10 * MINUTE],
  ])("%s does not move the eviction", (_what, aheadMs) => {
    const world = cluster();
    world.run();
    world.advance(10 * S);
    maintain(world, 0);
    stampOn(world, 3 * MINUTE, aheadMs);
    expectGone(world, 10 * S + MINUTE);
  });

  test.each([
    ["with the present time", 0],
    ["with a past time", -10 * MINUTE],
    ["with a future time", 10 * MINUTE],
  ])("%s does not move the eviction, even by restarts", (_what, aheadMs) => {
    const world = cluster();
    const process = world.start(EVICTING, { member: "first" });
    world.advance(10 * S);
    maintain(world, 0);
    stampOn(world, 21 * S, aheadMs);
    process.kill();
    stampOn(world, 9 * S, aheadMs);
    world.start(EVICTING, { member: "second" });
    stampOn(world, 2 * MINUTE, aheadMs);
    expectGone(world, 10 * S + MINUTE);
  });
});

/**
 * Starts each service in a process of its own whose clock is this far ahead; a service without an entry has the correct
 * time.
 */
function startApart(world: EvictionWorld, aheadMs: Partial<Record<ServiceName, number>>, run = ""): VirtualProcess[] {
  return Object.entries({ ...EVICTING, policy: policyService([]) }).map(([name, service]) => {
    const wallAheadMs = aheadMs[name as ServiceName] ?? 0;
    const member = `${name}${run}`;
    const options: StartOptions = { member, wallAheadMs, policies: world.receivedPolicies(member) };
    return world.start({ [name]: service }, options);
  });
}

const OFF = 300 * S;
/** The one in which each clock differs is the last. */
const CLOCKS: readonly (readonly [string, Partial<Record<ServiceName, number>>])[] = [
  ["a node-writer that is 300 s ahead", { "node-writer": OFF }],
  ["a node-writer that is 300 s behind", { "node-writer": -OFF }],
  ["a taint-manager that is 300 s ahead", { "taint-manager": OFF }],
  ["a taint-manager that is 300 s behind", { "taint-manager": -OFF }],
  ["a pod-writer that is 300 s behind", { "pod-writer": -OFF }],
  ["clocks that all differ", { "node-writer": OFF, "taint-manager": -OFF, "pod-writer": OFF / 2, zone: -OFF / 2 }],
];

describe("differing clocks", () => {
  test.each(CLOCKS)("with %s pods go in time despite restarts", (_what, aheadMs) => {
    const world = cluster();
    const processes = startApart(world, aheadMs);
    world.advance(MINUTE);
    world.silence([NODE]);
    world.advance(2 * MINUTE);
    for (const process of processes) process.kill();
    world.advance(10 * S);
    startApart(world, aheadMs, "-again");
    world.advance(9 * MINUTE);
    expectGone(world, Number(world.taintedAt(NODE)) + 300 * S);
  });

  test.each(CLOCKS.slice(-1))("with %s a countdown continues across a swap", (_what, aheadMs) => {
    const world = cluster();
    startApart(world, aheadMs);
    world.advance(MINUTE);
    world.kubelet(NODE).report("Ready", "False");
    world.advance(2 * MINUTE);
    world.silence([NODE]);
    world.advance(9 * MINUTE);
    expect(world.taints(NODE)).toContain(`${UNREACHABLE}:NoExecute`);
    expectGone(world, Number(world.taintedAt(NODE)) + 300 * S);
  });
});
