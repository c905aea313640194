/** Scenarios of a NoExecute taint that replaces its opposite: which countdowns continue, and which start. */
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

/** A pod's tolerations of the two taints, in seconds; null tolerates without limit. */
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

/** A node whose kubelet reports NotReady in the tenth second. */
function ill(pods: Pods): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", 5);
  for (const [name, tolerations] of Object.entries(pods)) world.addTolerantPod(NODE, name, tolerations);
  world.run();
  world.advance(FIRST_MS);
  world.kubelet(NODE).report("Ready", "False");
  return world;
}

/** The same node, silent since and swapped by now. The wall clock may have been stepped in between. */
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

/** Asserts that a pod is deleted at an instant or within a few seconds after it. */
function expectGone(world: EvictionWorld, pod: string, dueMs: number): void {
  expect(world.deletedAt(pod)).toBeGreaterThanOrEqual(dueMs);
  expect(world.deletedAt(pod)).toBeLessThan(dueMs + LATE_MS);
}

test("pods go when the first taint's countdown ends; others start to count (R8.18)", () => {
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

test("a countdown continues across swaps and restarts, back to the first taint too", () => {
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

test("a running countdown continues though the new taint is not tolerated (R8.18)", () => {
  const { world, swapMs } = swapped({ zero: tolerating(900, 0) });
  world.advance(1200 * S);
  expect(swapMs).toBeLessThan(FIRST_MS + 900 * S);
  expectGone(world, "zero", FIRST_MS + 900 * S);
});

test("a pod bound between two swaps does not count from the first taint", () => {
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
])("a refused eviction that is due survives a swap, tolerated for %i and then %i s", (first, second) => {
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

test("a clock set back gives a pod bound after a swap no share in the first taint", () => {
  const { world } = swapped({}, -400 * S);
  world.addTolerantPod(NODE, "late", tolerating(60, 900));
  const boundMs = world.clock.monotonicMs();
  world.advance(10 * S);
  world.crash(10 * S);
  world.advance(2000 * S);
  expectGone(world, "late", boundMs + 900 * S);
});

test("a clock set back before the swap does not restart an older pod's countdown", () => {
  const { world } = swapped({ kept: tolerating(900, 60) }, -400 * S);
  world.advance(1200 * S);
  expectGone(world, "kept", FIRST_MS + 900 * S);
});

test("without the record of the swap a pod goes by the present taint", () => {
  const { world, swapMs } = swapped({ both: tolerating(500, 500) });
  world.patch({ kind: "Node", namespace: "", name: NODE }, { metadata: { annotations: { [SWAP]: null } } });
  world.advance(1200 * S);
  expectGone(world, "both", swapMs + 500 * S);
});

test("an opposite taint that someone adds and Vigil removes moves no countdown", () => {
  const { world } = swapped({ both: tolerating(500, 500) });
  const taints = world.node(NODE).spec.taints ?? [];
  world.taint(NODE, [...taints.map((taint) => ({ ...taint })), { key: NOT_READY, effect: "NoExecute" }]);
  world.advance(1200 * S);
  expectGone(world, "both", FIRST_MS + 500 * S);
});

test("a pod bound after the swap counts from its binding, by the taint that is there", () => {
  const { world } = swapped({});
  world.addTolerantPod(NODE, "late", tolerating(30, 60));
  const boundMs = world.clock.monotonicMs();
  world.advance(120 * S);
  expectGone(world, "late", boundMs + 60 * S);
});

test("the record of a swap does not count for a taint that was away in between", () => {
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
])("a countdown continues when someone rewrites the present taint %s", (_what, timeAdded) => {
  const { world } = swapped({ both: tolerating(500, 500), patient: tolerating(null, 60) });
  const swapMs = world.timeAddedMs(NODE);
  world.taint(NODE, [{ key: UNREACHABLE, effect: "NoExecute", ...(timeAdded === undefined ? {} : { timeAdded }) }]);
  world.advance(10 * S);
  world.crash(10 * S);
  world.advance(600 * S);
  expectGone(world, "both", FIRST_MS + 500 * S);
  expectGone(world, "patient", swapMs + 60 * S);
});

test("the record of the swap is removed when the node is Ready again", () => {
  const { world } = swapped({});
  const annotations = () => world.read({ kind: "Node", namespace: "", name: NODE })?.metadata.annotations ?? {};
  expect(annotations()).toMatchObject({ [SWAP]: expect.stringContaining(NOT_READY) });
  world.kubelet(NODE).report("Ready", "True");
  world.revive([NODE]);
  world.advance(10 * S);
  expect(world.taints(NODE)).toEqual([]);
  expect(annotations()).not.toHaveProperty([SWAP]);
});

test("a pod bound under the first taint counts from its binding, after a restart too", () => {
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

test("a grant removes an opposite taint that the watch missed: a node never has both", () => {
  const world = new EvictionWorld();
  world.addZone("a", 5);
  world.run();
  world.advance(FIRST_MS);
  // The first node uses the token, so the second waits ten seconds.
  world.kubelet("a-1").report("Ready", "False");
  world.kubelet(NODE).report("Ready", "False");
  world.advance(5 * S);
  world.api.faults.silenceWatches("nodes");
  world.taint(NODE, [{ key: UNREACHABLE, effect: "NoExecute" }]);
  world.advance(10 * S);
  expect(world.taints(NODE).filter((taint) => taint.endsWith(":NoExecute"))).toEqual([`${NOT_READY}:NoExecute`]);
});
