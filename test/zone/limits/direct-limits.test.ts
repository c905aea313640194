/** Limits in direct mode, in which nothing on a node shows that it was drained. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import { LimitedNodes } from "../../../services/zone/limits/limited-nodes.ts";
import { nodeWith } from "../../node/node-fixtures.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandPolicies } from "../../support/hand-policies.ts";

const S = 1000;
const MINUTE = 60 * S;

function run() {
  const world = new EvictionWorld({ evictionMode: "direct", podEvictionTimeoutMs: MINUTE, nodeEvictionsPerSecond: 1 });
  world.addZone("a", 4);
  for (const node of ["a-0", "a-1", "a-2"]) world.addTolerantPod(node, `pod-${node}`);
  const policies = new HandPolicies({ budgets: [{ nodes: 1 }], unhealthyZoneThreshold: 1 });
  const start = () => world.start(EVICTING, { member: "vigil", policies });
  const process = start();
  world.advance(10 * S);
  const drained = () => ["a-0", "a-1", "a-2"].filter((node) => world.deletedAt(`pod-${node}`) !== undefined);
  return { world, process, start, drained };
}

test("a drained node counts after a restart too, until it is ready", () => {
  const { world, process, start, drained } = run();
  world.kubelet("a-0").report("Ready", "False");
  world.advance(10 * S);
  world.kubelet("a-1").report("Ready", "False");
  world.advance(3 * MINUTE);
  expect(drained()).toEqual(["a-0"]);
  process.kill();
  start();
  world.advance(5 * MINUTE);
  expect(drained()).toEqual(["a-0"]);
  world.kubelet("a-0").report("Ready", "True");
  world.advance(MINUTE);
  expect(drained()).toEqual(["a-0", "a-1"]);
});

test("a pod that comes to a drained node after a restart frees no budget", () => {
  const { world, process, start, drained } = run();
  world.silence(["a-0"]);
  world.advance(10 * S);
  world.kubelet("a-1").report("Ready", "False");
  world.advance(3 * MINUTE);
  process.kill();
  start();
  world.advance(10 * S);
  // From now on a-1 has been down for longer, and would be drained first.
  world.kubelet("a-0").report("Ready", "False");
  world.revive(["a-0"]);
  world.advance(2 * MINUTE);
  expect(drained()).toEqual(["a-0"]);
  world.addTolerantPod("a-0", "pod-late");
  world.advance(5 * MINUTE);
  expect(world.deletedAt("pod-late")).toBeDefined();
  expect(drained()).toEqual(["a-0"]);
  world.kubelet("a-0").report("Ready", "True");
  world.advance(MINUTE);
  expect(drained()).toEqual(["a-0", "a-1"]);
});

test("of two nodes that are due one is drained", () => {
  const { world, drained } = run();
  world.kubelet("a-0").report("Ready", "False");
  world.kubelet("a-1").report("Ready", "False");
  world.advance(90 * S);
  expect(drained()).toHaveLength(1);
});

/** Shows a node to the limits in direct mode. Returns how often it was admitted, and whether budgets count it. */
function shown() {
  const nodes = new LimitedNodes("direct");
  const at = { nowMs: 50_000, wallMs: 50_000 };
  nodes.regroup(() => ["gpu"], at);
  return (judgement: Partial<BodyOf<"judged.node">>) => {
    const observed = { ...nodeWith("False"), node: "n", uid: "u" };
    const judged = { node: "n", uid: "u", zone: "z", readiness: "notReady", eviction: "unmarked", ...judgement };
    nodes.onNode(observed, { observed, judged: judged as BodyOf<"judged.node">, shard: 0, cause: "" }, at);
    const group = nodes.group("gpu");
    return { inWindow: group?.admissions.since(0).nodes, admitted: group?.admitted };
  };
}

const AHEAD = { evictionFromAt: 60_000 };
const UNSEEN = { ...AHEAD, podsUnknown: true };

test("a drain of an owner that cannot be heard counts when the pods are gone", () => {
  const show = shown();
  expect(show({ eviction: "toBeEvicted" })).toEqual({ inWindow: 0, admitted: 0 });
  expect(show({})).toEqual({ inWindow: 1, admitted: 1 });
  show({ eviction: "toBeEvicted", readiness: "starting" });
  expect(show({ eviction: "toBeEvicted" })).toEqual({ inWindow: 1, admitted: 1 });
  expect(show({ readiness: "ready" })).toEqual({ inWindow: 1, admitted: 0 });
  expect(show({ eviction: "toBeEvicted" })).toEqual({ inWindow: 1, admitted: 0 });
});

test("a drained node whose policy is not known for a moment is not admitted again", () => {
  const nodes = new LimitedNodes("direct");
  const at = (nowMs: number) => ({ nowMs, wallMs: nowMs });
  nodes.regroup(() => ["gpu"], at(0));
  const observed = { ...nodeWith("False"), node: "n", uid: "u" };
  const judged = { node: "n", uid: "u", zone: "z", readiness: "notReady", eviction: "evicted" };
  nodes.onNode(observed, { observed, judged: judged as BodyOf<"judged.node">, shard: 0, cause: "" }, at(S));
  // As after a change to a selector whose label the observer does not publish yet.
  nodes.regroup(() => null, at(MINUTE));
  nodes.regroup(() => ["gpu", "new"], at(2 * MINUTE));
  const since = (group: string, fromMs: number) => nodes.group(group)?.admissions.since(fromMs).nodes;
  expect([since("gpu", 0), since("gpu", S), since("new", 0), since("new", S)]).toEqual([1, 0, 1, 0]);
});

describe("while its pods are not known", () => {
  test("a node does not count as drained", () => {
    const show = shown();
    expect(show(UNSEEN)).toEqual({ inWindow: 0, admitted: 0 });
    expect(show({ podsUnknown: true })).toEqual({ inWindow: 0, admitted: 0 });
    expect(show({})).toEqual({ inWindow: 0, admitted: 1 });
  });

  test("pods that were known before are not forgotten", () => {
    const show = shown();
    show(AHEAD);
    show(UNSEEN);
    expect(show({})).toEqual({ inWindow: 1, admitted: 1 });
  });

  test("pods of an earlier failure do not count", () => {
    const show = shown();
    show(AHEAD);
    show({ readiness: "ready" });
    show(UNSEEN);
    expect(show({})).toEqual({ inWindow: 0, admitted: 1 });
  });

  test("a drained node stays drained", () => {
    const show = shown();
    show({ eviction: "evicted" });
    expect(show(UNSEEN)).toEqual({ inWindow: 1, admitted: 1 });
    expect(show({})).toEqual({ inWindow: 1, admitted: 1 });
  });

  test("an older process is read as if it knew them", () => {
    const show = shown();
    show(AHEAD);
    expect(show({})).toEqual({ inWindow: 1, admitted: 1 });
  });
});

describe("an empty node does not count against a breaker", () => {
  const breaker = { circuitBreaker: { maxNodes: 1, duration: "10m", resetAfter: "30m" }, unhealthyZoneThreshold: 1 };
  const start = (podEvictionTimeoutMs: number) => {
    const world = new EvictionWorld({ evictionMode: "direct", podEvictionTimeoutMs, nodeEvictionsPerSecond: 1 });
    world.addZone("a", 6);
    world.addTolerantPod("a-1", "pod");
    const policies = new HandPolicies(breaker);
    const process = world.start(EVICTING, { member: "vigil", policies });
    world.advance(60 * S);
    const inWindow = () => Math.max(...world.published("judged.limits").map(({ body }) => body.inWindow));
    return { world, process, inWindow, restart: () => world.start(EVICTING, { member: "vigil", policies }) };
  };

  test.each([10 * S, 5 * MINUTE])("when silent, timeout %d ms", (timeoutMs) => {
    const { world, inWindow } = start(timeoutMs);
    world.silence(["a-0", "a-2"]);
    world.advance(100 * S);
    expect(inWindow()).toBe(0);
    world.silence(["a-1"]);
    world.advance(10 * MINUTE);
    expect(world.deletedAt("pod")).toBeDefined();
    expect(inWindow()).toBe(1);
  });

  test("when found at a start", () => {
    const { world, process, restart, inWindow } = start(MINUTE);
    world.silence(["a-0", "a-2"]);
    world.advance(5 * MINUTE);
    process.kill();
    restart();
    world.advance(MINUTE);
    world.silence(["a-1"]);
    world.advance(10 * MINUTE);
    expect(world.deletedAt("pod")).toBeDefined();
    expect(inWindow()).toBe(1);
  });
});
