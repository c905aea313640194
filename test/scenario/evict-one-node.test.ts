/** Scenarios of one node's death on virtual time: taint, countdown, eviction and recovery, also across a crash. */
import { describe, expect, test } from "vitest";
import { EvictionWorld, NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";

const S = 1000;
/** The node's last heartbeat is at 30 s. Silence is found at the first instant after 50 s more. */
const FOUND_MS = 80_001;

/** Five nodes in one zone. The first falls silent at 30 s and has a pod with default tolerations. */
function deadNode(): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", 5);
  world.addTolerantPod("a-0", "pod");
  world.addTolerantPod("a-1", "elsewhere");
  world.run();
  world.advance(30 * S);
  world.silence(["a-0"]);
  world.advance(60 * S);
  return world;
}

const lives: [string, (world: EvictionWorld) => void][] = [
  ["without a restart", (world) => world.advance(7 * S)],
  ["killed and restarted on the way", (world) => world.crash(7 * S)],
];

describe.each(lives)("a dead node, %s", (_what, middle) => {
  test("is tainted, and its pod deleted 300 s after timeAdded (L3)", () => {
    const world = deadNode();
    expect(world.taintedAt("a-0")).toBe(FOUND_MS);
    const addedMs = world.timeAddedMs("a-0");
    expect(addedMs).toBe(80 * S);
    world.advance(100 * S);
    middle(world);
    world.advance(addedMs + 300 * S - world.clock.monotonicMs() - 1);
    expect(world.deletedAt("pod")).toBeUndefined();
    world.advance(1);
    expect(world.deletedAt("pod")).toBe(addedMs + 300 * S);
    world.advance(600 * S);
    expect(world.deleted.map(({ name }) => name)).toEqual(["pod"]);
    expect(world.tainted.map(({ name }) => name)).toEqual(["a-0"]);
  });

  test("back during the countdown loses the taint and keeps its pod", () => {
    const world = deadNode();
    world.advance(100 * S);
    middle(world);
    world.revive(["a-0"]);
    world.advance(1 * S);
    expect(world.taints("a-0")).toEqual([]);
    world.advance(900 * S);
    expect(world.deleted).toEqual([]);
  });

  test("NotReady and then Unknown keeps one taint and the countdown (P3)", () => {
    const world = new EvictionWorld();
    world.addZone("a", 5);
    world.addTolerantPod("a-0", "pod");
    world.run();
    world.advance(30 * S);
    world.kubelet("a-0").report("Ready", "False");
    world.advance(0);
    expect(world.taints("a-0")).toContain(`${NOT_READY}:NoExecute`);
    world.advance(20 * S);
    world.silence(["a-0"]);
    middle(world);
    world.advance(100 * S);
    expect(world.taints("a-0").filter((taint) => taint.endsWith(":NoExecute"))).toEqual([`${UNREACHABLE}:NoExecute`]);
    world.advance(300 * S);
    expect(world.deletedAt("pod")).toBe(330 * S);
  });

  test("flapping NotReady and Unknown is evicted 300 s after its failure", () => {
    const world = new EvictionWorld();
    world.addZone("a", 5);
    world.addTolerantPod("a-0", "pod");
    world.run();
    world.advance(30 * S);
    for (let flap = 0; flap < 5; flap++) {
      world.kubelet("a-0").report("Ready", "False");
      world.silence(["a-0"]);
      world.advance(55 * S);
      if (flap === 2) middle(world);
    }
    world.advance(60 * S);
    expect(world.deletedAt("pod")).toBe(330 * S);
  });
});

test("a deadline that passes while the process is down is met once, on its return", () => {
  const world = deadNode();
  world.advance(285 * S);
  expect(world.clock.monotonicMs()).toBe(375 * S);
  world.crash(15 * S);
  world.advance(1 * S);
  expect(world.deletedAt("pod")).toBe(390 * S);
});

test("a node that returns while the process is down keeps its pods past their deadline", () => {
  const world = deadNode();
  world.advance(285 * S);
  const returns = (): void => world.revive(["a-0"]);
  world.clock.after(10 * S, returns);
  world.crash(15 * S);
  world.advance(600 * S);
  expect(world.deleted).toEqual([]);
  expect(world.taints("a-0")).toEqual([]);
});

test.each([3_600_000, -3_600_000])(
  "a step of the wall clock by %i ms moves no deadline, whatever changes afterwards",
  (stepMs) => {
    const world = new EvictionWorld();
    // These kubelets send heartbeats by status alone, whose stamp may go back (R2.34): all clocks of this world step
    // together.
    for (const name of ["a-0", "a-1", "a-2"]) world.register(name, {}, { leasePeriodMs: null, statusPeriodMs: 10 * S });
    world.addTolerantPod("a-0", "pod");
    world.run();
    world.advance(30 * S);
    world.silence(["a-0"]);
    world.advance(160 * S);
    world.addTolerantPod("a-0", "late");
    world.advance(10 * S);
    world.clock.stepWall(stepMs);
    world.advance(10 * S);
    world.patch({ kind: "Node", namespace: "", name: "a-0" }, { metadata: { labels: { touched: "yes" } } });
    world.advance(600 * S);
    expect(world.deleted).toEqual([
      { name: "pod", atMs: 380 * S },
      { name: "late", atMs: 490 * S },
    ]);
  },
);

test("each message names its cause: eviction schedule, request, write", () => {
  const world = deadNode();
  world.advance(400 * S);
  const [sentence, verdict] = world.published("judged.pod");
  expect(sentence?.body).toMatchObject({ eviction: "pending", tolerationSeconds: 300, taint: { key: UNREACHABLE } });
  expect(verdict?.body).toMatchObject({ eviction: "due", deadlineAt: sentence?.body.deadlineAt });
  const [ask] = world.published("asked.eviction");
  expect(ask?.cause).toBe(verdict?.id);
  const done = world.published("done.write").find(({ body }) => body.ask === "asked.eviction");
  expect(done).toMatchObject({ cause: ask?.id, body: { outcome: "ok", retrying: false } });
});

test("the pod status says why it was deleted; the delete names the uid (R8.28, L23)", () => {
  const world = deadNode();
  world.advance(400 * S);
  const pod = world.read({ kind: "Pod", namespace: "default", name: "pod" });
  expect(JSON.stringify(pod?.status)).toContain(`deleting due to NoExecute taint ${UNREACHABLE}:NoExecute on node a-0`);
});
