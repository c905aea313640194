/** Scenarios of a NoExecute taint that takes its opposite's place: which countdowns run on, and which begin. */
import { expect, test } from "vitest";
import type { Toleration } from "../../protocols/objects.ts";
import { EvictionWorld, NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";

const S = 1000;
const LATE_MS = 5 * S;
const NODE = "a-0";
const SWAP = "vigil.v1/taint-swap";
/** The node's first taint. */
const FIRST_MS = 10 * S;
/** When the wall clock may be stepped. */
const STEP_MS = 200 * S;
/** When the kubelet falls silent, and by when the node is unreachable. */
const SILENT_MS = 310 * S;
const SWAPPED_MS = 360 * S;

/** A pod's tolerations of the two taints, in seconds; null for ever. */
function tolerating(notReady: number | null, unreachable: number | null): Toleration[] {
  const one = (key: string, seconds: number | null) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    ...(seconds === null ? {} : { tolerationSeconds: seconds }),
  });
  return [one(NOT_READY, notReady), one(UNREACHABLE, unreachable)];
}

type Pods = Readonly<Record<string, readonly Toleration[]>>;

/** A node whose kubelet has just reported NotReady, in the tenth second. */
function ill(pods: Pods): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", 5);
  for (const [name, tolerations] of Object.entries(pods)) world.addTolerantPod(NODE, name, tolerations);
  world.run();
  world.advance(FIRST_MS);
  world.kubelet(NODE).report("Ready", "False");
  return world;
}

/** The same, silent since; it has been swapped by now. The wall clock may have been stepped in between. */
function swapped(pods: Pods, stepMs = 0): { world: EvictionWorld; swapMs: number } {
  const world = ill(pods);
  world.advance(STEP_MS - FIRST_MS);
  world.clock.stepWall(stepMs);
  world.advance(SILENT_MS - STEP_MS);
  world.silence([NODE]);
  world.advance(SWAPPED_MS + LATE_MS - SILENT_MS);
  expect(world.taints(NODE)).toContain(`${UNREACHABLE}:NoExecute`);
  return { world, swapMs: world.timeAddedMs(NODE) };
}

/** Asserts that a pod has gone within a few seconds from an instant on, and not before it. */
function expectGone(world: EvictionWorld, pod: string, dueMs: number): void {
  expect(world.deletedAt(pod)).toBeGreaterThanOrEqual(dueMs);
  expect(world.deletedAt(pod)).toBeLessThan(dueMs + LATE_MS);
}

test("each pod goes when its countdown of the first taint ends; a countdown that had not begun begins (R8.18)", () => {
  const { world, swapMs } = swapped({
    both: tolerating(500, 500),
    kept: tolerating(900, 60),
    short: tolerating(400, 900),
    patient: tolerating(null, 60),
    content: tolerating(600, null),
  });
  expect(swapMs).toBeGreaterThanOrEqual(SWAPPED_MS - S);
  world.advance(1200 * S);
  expectGone(world, "both", FIRST_MS + 500 * S);
  expectGone(world, "kept", FIRST_MS + 900 * S);
  expectGone(world, "short", FIRST_MS + 400 * S);
  expectGone(world, "patient", swapMs + 60 * S);
  expect(world.deletedAt("content")).toBeUndefined();
});

test("a countdown runs on over swaps and restarts, also when the first taint comes back", () => {
  const { world } = swapped({ both: tolerating(900, 800), patient: tolerating(900, null) });
  world.crash(10 * S);
  world.kubelet(NODE).resume();
  world.kubelet(NODE).report("Ready", "False");
  world.advance(10 * S);
  expect(world.taints(NODE)).toContain(`${NOT_READY}:NoExecute`);
  const backMs = world.timeAddedMs(NODE);
  world.crash(10 * S);
  world.advance(2000 * S);
  expectGone(world, "both", FIRST_MS + 900 * S);
  expectGone(world, "patient", backMs + 900 * S);
});

test("a countdown runs on that began with one taint though the other is tolerated for no time (R8.18)", () => {
  const { world, swapMs } = swapped({ zero: tolerating(900, 0) });
  world.advance(1200 * S);
  expect(swapMs).toBeLessThan(FIRST_MS + 900 * S);
  expectGone(world, "zero", FIRST_MS + 900 * S);
});

test("a pod bound between two swaps has not counted the first taint, and goes no earlier than by either", () => {
  const { world } = swapped({});
  world.addTolerantPod(NODE, "between", tolerating(60, 600));
  const boundMs = world.clock.monotonicMs();
  world.advance(100 * S);
  world.kubelet(NODE).resume();
  world.kubelet(NODE).report("Ready", "False");
  world.advance(1200 * S);
  expectGone(world, "between", boundMs + 600 * S);
});

test.each([
  [300, 3600],
  [300, 300],
])("an eviction that is due and refused when a swap comes goes on, tolerated for %i and then %i s", (first, second) => {
  const world = ill({ pod: tolerating(first, second) });
  const mend = world.api.faults.add({
    fault: { kind: "status", code: 429 },
    when: ({ verb, name }) => verb === "delete" && name === "pod",
  });
  world.advance(SILENT_MS - FIRST_MS);
  world.silence([NODE]);
  world.advance(80 * S);
  expect(world.taints(NODE)).toContain(`${UNREACHABLE}:NoExecute`);
  mend();
  const mendedMs = world.clock.monotonicMs();
  world.advance(120 * S);
  expect(world.deletedAt("pod")).toBeGreaterThanOrEqual(mendedMs);
});

test("a pod that came after a swap under a clock that had been set back is not taken for one of the first taint", () => {
  const { world } = swapped({}, -400 * S);
  world.addTolerantPod(NODE, "late", tolerating(60, 900));
  const boundMs = world.clock.monotonicMs();
  world.advance(10 * S);
  world.crash(10 * S);
  world.advance(2000 * S);
  expectGone(world, "late", boundMs + 900 * S);
});

test("a wall clock that was set back before the swap makes no pod one that came after it", () => {
  const { world } = swapped({ kept: tolerating(900, 60) }, -400 * S);
  world.advance(1200 * S);
  expectGone(world, "kept", FIRST_MS + 900 * S);
});

test("a pod goes by the present taint when what was written down about the swap is lost, or comes late", () => {
  const { world, swapMs } = swapped({ both: tolerating(500, 500) });
  world.patch({ kind: "Node", namespace: "", name: NODE }, { metadata: { annotations: { [SWAP]: null } } });
  world.advance(1200 * S);
  expectGone(world, "both", swapMs + 500 * S);
});

test("a taint that somebody adds beside the present one, and Vigil takes away, leaves the countdown running", () => {
  const { world } = swapped({ both: tolerating(500, 500) });
  const taints = world.node(NODE).spec.taints ?? [];
  world.taint(NODE, [...taints.map((taint) => ({ ...taint })), { key: NOT_READY, effect: "NoExecute" }]);
  world.advance(1200 * S);
  expectGone(world, "both", FIRST_MS + 500 * S);
});

test("a pod bound after the swap counts from then, for the taint that stands there", () => {
  const { world } = swapped({});
  world.addTolerantPod(NODE, "late", tolerating(30, 60));
  const boundMs = world.clock.monotonicMs();
  world.advance(120 * S);
  expectGone(world, "late", boundMs + 60 * S);
});

test("what a swap has left written down tells nothing of a taint that was away in between", () => {
  const { world } = swapped({ both: tolerating(400, 400) });
  world.taint(NODE, []);
  world.taint(NODE, [{ key: UNREACHABLE, effect: "NoExecute" }]);
  const againMs = world.clock.monotonicMs();
  world.advance(600 * S);
  expectGone(world, "both", againMs + 400 * S);
});

test.each([
  ["without a stamp", undefined],
  ["with a stamp of long ago", "1970-01-01T00:00:00Z"],
  ["with a stamp of the far future", "2099-01-01T00:00:00Z"],
])("a countdown runs on over a swap when somebody writes the present taint again %s", (_what, timeAdded) => {
  const { world } = swapped({ both: tolerating(500, 500), patient: tolerating(null, 60) });
  const swapMs = world.timeAddedMs(NODE);
  world.taint(NODE, [{ key: UNREACHABLE, effect: "NoExecute", ...(timeAdded === undefined ? {} : { timeAdded }) }]);
  world.advance(10 * S);
  world.crash(10 * S);
  world.advance(600 * S);
  expectGone(world, "both", FIRST_MS + 500 * S);
  expectGone(world, "patient", swapMs + 60 * S);
});

test("nothing is left written down when the node is ready again", () => {
  const { world } = swapped({});
  const annotations = () => world.read({ kind: "Node", namespace: "", name: NODE })?.metadata.annotations ?? {};
  expect(annotations()).toMatchObject({ [SWAP]: expect.stringContaining(NOT_READY) });
  world.kubelet(NODE).report("Ready", "True");
  world.revive([NODE]);
  world.advance(10 * S);
  expect(world.taints(NODE)).toEqual([]);
  expect(annotations()).not.toHaveProperty([SWAP]);
});

test("a pod bound under the first taint counts from then, after a restart and however often its node changes", () => {
  const world = ill({});
  world.advance(90 * S);
  world.addTolerantPod(NODE, "late", tolerating(300, 300));
  world.advance(160 * S);
  world.silence([NODE]);
  world.advance(60 * S);
  world.crash(5 * S);
  world.patch({ kind: "Node", namespace: "", name: NODE }, { spec: { unschedulable: true } });
  world.advance(600 * S);
  expectGone(world, "late", 100 * S + 300 * S);
});

test("a turn takes the opposite taint away that somebody put there unseen: a node never carries both", () => {
  const world = new EvictionWorld();
  world.addZone("a", 5);
  world.run();
  world.advance(FIRST_MS);
  // The first of the two spends the token, so that the other waits for ten seconds.
  world.kubelet("a-1").report("Ready", "False");
  world.kubelet(NODE).report("Ready", "False");
  world.advance(5 * S);
  world.api.faults.silenceWatches("nodes");
  world.taint(NODE, [{ key: UNREACHABLE, effect: "NoExecute" }]);
  world.advance(10 * S);
  expect(world.taints(NODE).filter((taint) => taint.endsWith(":NoExecute"))).toEqual([`${NOT_READY}:NoExecute`]);
});
