/** Budgets in direct mode, in which nothing on a node shows that it was drained. */
import { expect, test } from "vitest";
import type { EvictionStatus, Readiness } from "../../../protocols/judged.ts";
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

test("a drain of an owner that cannot be heard counts when the pods are gone", () => {
  const nodes = new LimitedNodes("direct");
  const at = { nowMs: 50_000, wallMs: 50_000 };
  nodes.regroup(() => ["gpu"], at);
  const show = (eviction: EvictionStatus, readiness: Readiness = "notReady"): number | undefined => {
    const observed = { ...nodeWith("False"), node: "n", uid: "u" };
    const judged = { node: "n", uid: "u", zone: "z", eviction, readiness } as BodyOf<"judged.node">;
    nodes.take(observed, { observed, judged, shard: 0, cause: "" }, at);
    return nodes.group("gpu")?.condemnations.since(0).nodes;
  };
  expect([show("toBeEvicted"), show("unmarked"), nodes.group("gpu")?.condemned]).toEqual([0, 1, 1]);
  expect([show("toBeEvicted", "starting"), show("toBeEvicted"), nodes.group("gpu")?.condemned]).toEqual([1, 1, 1]);
  expect([show("unmarked", "ready"), nodes.group("gpu")?.condemned]).toEqual([1, 0]);
  expect([show("toBeEvicted"), nodes.group("gpu")?.condemned]).toEqual([1, 0]);
});
