/**
 * Scenarios on virtual time: a machine is suspended, and its successor observes meanwhile. When it resumes, it
 * publishes the states that waited for it in its watches, as if they were new.
 */
import { describe, expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import { type ClocksMeanwhile, StandstillWorld } from "../support/standstill-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const tolerating: Toleration[] = [
  { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
];

/** Two processes that can observe, and one with the other services. `suspend` suspends the one that observes. */
function observedByTwo(clocks: ClocksMeanwhile) {
  const world = new StandstillWorld();
  for (const member of ["o1", "o2"]) world.add(member, { clocks, isShared: true }, "observer");
  world.add("rest", {}, "node", "zone", "taint-manager", "node-writer", "pod-writer");
  world.addTolerantPod("b-0", "pod", tolerating);
  world.settle();
  const observer = () => world.published("observed.pulse").at(-1)?.source.split("@")[1] ?? "";
  return { world, observer, suspend: () => world.stopProcess(observer()) };
}

describe.each<ClocksMeanwhile>(["stop", "stop, wall is set"])("a backlog (clocks: %s)", (clocks) => {
  test("ends no countdown that its successor's states began", () => {
    const { world, observer, suspend } = observedByTwo(clocks);
    const suspended = observer();
    const resume = suspend();
    world.advance(30 * S);
    world.patch({ kind: "Node", namespace: "", name: "b-0" }, { spec: { unschedulable: true } });
    world.advance(1 * S);
    world.taint("b-0", [MAINTENANCE]);
    const taintedMs = world.clock.monotonicMs();
    world.advance(200 * S);
    expect(observer()).not.toBe(suspended);
    resume();
    world.advance(120 * S);
    expect(observer()).toBe(suspended);
    expect(world.receivedSince("judged.pod").map(({ body }) => body.eviction)).toEqual(["pending", "due"]);
    expect(world.deletedAt("pod")).toBe(taintedMs + 300 * S);
  });

  test("makes no node ready that is not", () => {
    const { world, suspend } = observedByTwo(clocks);
    const resume = suspend();
    world.advance(30 * S);
    world.patch({ kind: "Node", namespace: "", name: "b-0" }, { spec: { unschedulable: true } });
    world.advance(1 * S);
    world.kubelet("b-0").report("Ready", "False");
    world.advance(60 * S);
    resume();
    world.advance(30 * S);
    const judged = world.receivedSince("judged.node").filter(({ body }) => body.node === "b-0");
    expect(new Set(judged.map(({ body }) => body.ready))).toEqual(new Set(["False"]));
    expect(world.freed).toEqual([]);
  });
});
