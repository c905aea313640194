/**
 * Pods with a wrong stamp of their binding. PodScheduled is stamped by the API server that bound the pod, or written by
 * a user who may write pod status. Upstream evicts such a pod tolerationSeconds after it observed the taint or the pod.
 */
import { expect, test } from "vitest";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;

function stampBinding(world: EvictionWorld, name: string, aheadS: number): void {
  const at = `${new Date(world.clock.wallMs() + aheadS * S).toISOString().slice(0, 19)}Z`;
  const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: at };
  world.patch({ kind: "Pod", namespace: "default", name }, { status: { conditions: [scheduled] } }, "status");
}

function toleratedMs(world: EvictionWorld, name: string): number {
  return (world.deletedAt(name) ?? Number.POSITIVE_INFINITY) - (world.taintedAt("a-0") ?? 0);
}

test.each([3600, 86_400])("a pod whose binding is stamped %d s ahead is evicted when its toleration ends", (aheadS) => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.addTolerantPod("a-0", "pod");
  stampBinding(world, "pod", aheadS);
  world.run();
  world.advance(600 * S);
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(toleratedMs(world, "pod")).toBeLessThan(302 * S);
});

test.each([100, 3600])("a binding stamped %d s ahead while the countdown runs does not move it", (aheadS) => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.addTolerantPod("a-0", "pod");
  world.run();
  world.advance(600 * S);
  world.silence(["a-0"]);
  world.advance(200 * S);
  stampBinding(world, "pod", aheadS);
  world.advance(600 * S);
  expect(toleratedMs(world, "pod")).toBeLessThan(302 * S);
});

test("a pod bound to a tainted node with a stamp 100 s ahead stays for its 300 s", () => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.run();
  world.advance(60 * S);
  world.silence(["a-0"]);
  world.advance(400 * S);
  world.addTolerantPod("a-0", "late");
  stampBinding(world, "late", 100);
  const cameMs = world.clock.monotonicMs();
  world.advance(600 * S);
  const stayedS = ((world.deletedAt("late") ?? Number.POSITIVE_INFINITY) - cameMs) / S;
  expect(stayedS).toBeGreaterThan(299);
  expect(stayedS).toBeLessThan(303);
});

test.each([600, 86_400])("a pod bound to a tainted node with a stamp %d s behind stays for its 300 s", (behindS) => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.run();
  world.advance(60 * S);
  world.silence(["a-0"]);
  world.advance(200 * S);
  world.addTolerantPod("a-0", "late");
  stampBinding(world, "late", -behindS);
  const cameMs = world.clock.monotonicMs();
  world.advance(600 * S);
  const stayedS = ((world.deletedAt("late") ?? Number.POSITIVE_INFINITY) - cameMs) / S;
  expect(stayedS).toBeGreaterThan(299);
  expect(stayedS).toBeLessThan(303);
});
