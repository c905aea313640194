/**
 * Scenarios on virtual time: a node joins, and its kubelet reports Ready=False for a while and runs pods meanwhile. A
 * pod bound in that time is marked not ready once; after that its kubelet decides (R3.11).
 */
import { expect, test } from "vitest";
import { nodeService } from "../../services/node/node.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;

/** A joining node: its kubelet is alive and reports Ready=False. */
function joining(): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.kubelet("a-0").report("Ready", "False");
  return world;
}

/** Lets time pass in which the kubelet repairs the status of a pod every 10 s, as real ones do. */
function reconcile(world: EvictionWorld, pod: string, forMs: number): void {
  const startedAt = new Date(world.clock.wallMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: startedAt }];
  for (let passedMs = 0; passedMs < forMs; passedMs += 10 * S) {
    world.patch({ kind: "Pod", namespace: "default", name: pod }, { status: { conditions } }, "status");
    world.advance(10 * S);
  }
}

/** How often Vigil set a pod not ready. */
function marks(world: EvictionWorld, pod: string): number {
  const done = world.published("done.write").map(({ body }) => body);
  return done.filter(({ ask, name, change }) => ask === "asked.unready" && name === pod && change !== "").length;
}

test("a pod bound while its kubelet reports NotReady is marked once, despite reposts", () => {
  const world = joining();
  world.run();
  world.advance(5 * S);
  world.addTolerantPod("a-0", "cni");
  world.advance(1 * S);
  expect(world.podReady("cni")).toBe("False");
  reconcile(world, "cni", 300 * S);
  expect(marks(world, "cni")).toBe(1);
  expect(world.podReady("cni")).toBe("True");
});

test("a restarted process accepts the kubelet's status and marks no pod twice", () => {
  const world = joining();
  world.run();
  world.advance(5 * S);
  world.addTolerantPod("a-0", "cni");
  world.advance(1 * S);
  reconcile(world, "cni", 20 * S);
  world.crash(5 * S);
  reconcile(world, "cni", 60 * S);
  expect(marks(world, "cni")).toBe(1);
  expect(world.podReady("cni")).toBe("True");
});

test("each of several pods is marked once, also across other transitions of the node", () => {
  const world = joining();
  world.run();
  world.advance(5 * S);
  for (const name of ["cni", "proxy"]) {
    world.addTolerantPod("a-0", name);
    world.advance(1 * S);
    reconcile(world, name, 20 * S);
  }
  world.kubelet("a-0").report("Ready", "True");
  world.advance(5 * S);
  world.kubelet("a-0").report("Ready", "False");
  reconcile(world, "cni", 30 * S);
  expect(["cni", "proxy"].map((name) => marks(world, name))).toEqual([1, 1]);
});

test("a pod that its kubelet reports not ready is not marked when it becomes ready", () => {
  const world = joining();
  world.run();
  world.advance(5 * S);
  world.addPod("a-0", "cni", { ready: "False" });
  world.advance(5 * S);
  reconcile(world, "cni", 60 * S);
  expect(marks(world, "cni")).toBe(0);
});

test("a lost mark is requested until the pod is not ready, and then no more", () => {
  const world = joining();
  const asks = (): number[] => world.published("asked.unready").map(({ atMs }) => atMs - boundMs);
  world.start({ observer: observerService, node: nodeService });
  world.advance(5 * S);
  world.addTolerantPod("a-0", "cni");
  const boundMs = world.clock.monotonicMs();
  world.advance(20 * S);
  expect(asks().map((ms) => Math.round(ms / S))).toEqual([0, 2, 4, 8, 16]);
  const unready = { status: { conditions: [{ type: "Ready", status: "False" }] } };
  world.patch({ kind: "Pod", namespace: "default", name: "cni" }, unready, "status");
  world.advance(1 * S);
  reconcile(world, "cni", 120 * S);
  expect(asks()).toHaveLength(5);
});

test("on a node that has fallen silent a pod is marked each time it reports Ready", () => {
  const world = joining();
  world.addTolerantPod("a-0", "cni");
  world.run();
  world.silence(["a-0"]);
  world.advance(60 * S);
  reconcile(world, "cni", 30 * S);
  expect(marks(world, "cni")).toBe(4);
  expect(world.podReady("cni")).toBe("False");
});
