/** When taints start to count, which pods they may evict, and which starts are recorded. */
import { describe, expect, test, vi } from "vitest";
import type { ObservedNode } from "../../protocols/objects.ts";
import {
  isEvictable,
  isSameCause,
  type KnownTaint,
  knownTaints,
  onApiTime,
  onMonotonic,
  startsToWrite,
} from "../../services/taint-manager/taint-manager.policy.ts";
import { noExecute, observedNode, observedPod } from "../support/observed-objects.ts";

const WALL = Date.UTC(2026, 0, 1);
/** A process that has just started, so taints may be older than it. */
const now = { monotonicMs: 5000, wallMs: WALL, absentMs: Number.NEGATIVE_INFINITY, isUnbroken: true };
/** The same process a minute later; its view was last complete half a second ago. */
const later = { monotonicMs: 65_000, wallMs: WALL + 60_000, absentMs: 64_500, isUnbroken: true };
/** The same, but messages were lost in between or a watch broke. */
const broken = { ...later, isUnbroken: false, absentMs: 6000 };
const at = (timeAdded: string) => noExecute("k", { timeAdded });
const sinceOf = (...args: Parameters<typeof knownTaints>) => knownTaints(...args).map(({ since }) => since);

describe("which pods taints may evict", () => {
  test.each(["Pending", "Running", "Unknown", ""])("one in phase %j", (phase) => {
    expect(isEvictable(observedPod("p", { phase }))).toBe(true);
  });

  test.each(["Succeeded", "Failed"])("not one in phase %s (upstream issue 96363)", (phase) => {
    expect(isEvictable(observedPod("p", { phase }))).toBe(false);
  });

  test("not one that is terminating (L34)", () => {
    expect(isEvictable(observedPod("p", { deletionAt: 1 }))).toBe(false);
  });
});

describe("a taint counts", () => {
  test("at its timeAdded, by its distance from now", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] });
    expect(sinceOf(node, [], now)).toEqual([-5000]);
  });

  test.each([
    ["a second ahead of our clock at its timeAdded", "2026-01-01T00:00:01Z", 6000],
    ["further ahead of our clock when first seen", "2026-01-01T00:00:03Z", 5000],
    ["in the far future when first seen", "2099-01-01T00:00:00Z", 5000],
    ["before its node was created at the creation", "1970-01-01T00:00:00Z", 5000 - 60_000],
    ["in the second in which its node was created at its timeAdded", "2025-12-31T23:58:59Z", 5000 - 61_000],
  ])("if it may be older than the process, stamped %s", (_what, timeAdded, since) => {
    const node = observedNode("a", { taints: [at(timeAdded)], createdAt: WALL - 60_000 });
    expect(sinceOf(node, [], now)).toEqual([since]);
  });

  test("at its timeAdded if its node was created in the future", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")], createdAt: WALL + 60_000 });
    expect(sinceOf(node, [], now)).toEqual([-5000]);
  });

  test.each([
    ["within the interval in which it appeared at its timeAdded", "2026-01-01T00:01:00Z", 65_000],
    ["up to a second before that at its timeAdded too", "2026-01-01T00:00:59Z", 64_000],
    ["ten minutes before when last seen absent", "2025-12-31T23:51:00Z", 64_500],
    ["long ago when last seen absent", "1970-01-01T00:00:00Z", 64_500],
    ["five minutes ahead when first seen", "2026-01-01T00:06:00Z", 65_000],
    ["in the far future when first seen", "2099-01-01T00:00:00Z", 65_000],
  ])("if it was seen to appear, stamped %s", (_what, timeAdded, since) => {
    expect(sinceOf(observedNode("a", { taints: [at(timeAdded)] }), [], later)).toEqual([since]);
  });

  test("from its appearance, not an earlier one's recorded start", () => {
    const taintsSeenAt = { "k:NoExecute": WALL - 5000, "bare:NoExecute": WALL - 5000 };
    const node = observedNode("a", { taints: [at("2026-01-01T00:01:00Z"), noExecute("bare")], taintsSeenAt });
    expect(sinceOf(node, [], later)).toEqual([65_000, 65_000]);
  });

  test("at the same instant after a step of the wall clock", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z"), noExecute("bare")] });
    const known = knownTaints(node, [], now);
    const stepped = { ...now, monotonicMs: 6000, wallMs: WALL + 3_600_000 };
    expect(sinceOf(node, known, stepped)).toEqual([-5000, 5000]);
  });

  describe("found by a slow clock", () => {
    const node = observedNode("a", { taints: [at("2026-01-01T00:00:16Z")] });
    const known = knownTaints(node, [], { ...now, absentMs: now.monotonicMs });
    const startAfter = (seconds: number, clockStepMs: number) => {
      const instant = { monotonicMs: now.monotonicMs + seconds * 1000, wallMs: WALL + seconds * 1000 + clockStepMs };
      return knownTaints(node, known, { ...now, ...instant })[0];
    };

    test("from later, once the clock is right", () => {
      expect(known).toMatchObject([{ since: 5000, sinceAt: WALL }]);
      expect(startAfter(1, 20_000)).toMatchObject({ since: 5000, sinceAt: WALL + 20_000 });
    });

    test.each([
      ["a step back", 1, -20_000],
      ["a step of a second", 1, 1000],
      ["a step more than a minute later", 61, 20_000],
    ])("as before after %s", (_what, seconds, stepMs) => {
      expect(startAfter(seconds, stepMs)).toMatchObject({ since: 5000, sinceAt: WALL });
    });
  });

  test.each([
    "2026-01-01T00:01:00Z",
    "2026-01-01T00:00:30Z",
    "1970-01-01T00:00:00Z",
    "2099-01-01T00:00:00Z",
    undefined,
  ])("at the same instant when its timeAdded becomes %s", (timeAdded) => {
    const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), [], now);
    const again = observedNode("a", { taints: [noExecute("k", timeAdded === undefined ? {} : { timeAdded })] });
    expect(sinceOf(again, known, later)).toEqual([-5000]);
  });

  test("as new after a gap in which its stamp changed again", () => {
    const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), [], now);
    const restamped = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:55Z")] }), known, later);
    expect(sinceOf(observedNode("a", { taints: [at("2025-12-31T23:59:55Z")] }), restamped, broken)).toEqual([-5000]);
    expect(sinceOf(observedNode("a", { taints: [at("2026-01-01T00:00:30Z")] }), restamped, broken)).toEqual([35_000]);
  });

  test("after a gap as before if its stamp is the same, else as new", () => {
    const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), [], now);
    expect(sinceOf(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), known, broken)).toEqual([-5000]);
    expect(sinceOf(observedNode("a", { taints: [at("2026-01-01T00:00:30Z")] }), known, broken)).toEqual([35_000]);
  });

  test("without timeAdded when first seen", () => {
    const node = observedNode("a", { taints: [noExecute("bare")] });
    const known = knownTaints(node, [], now);
    expect(sinceOf(node, known, later)).toEqual([5000]);
  });

  test("without timeAdded from the later of our start and the record", () => {
    const node = observedNode("a", { taints: [noExecute("bare")] });
    const written = (seenAt: number) => observedNode("a", { ...node, taintsSeenAt: { "bare:NoExecute": seenAt } });
    const known = knownTaints(node, [], now);
    expect(knownTaints(written(WALL + 100), known, later)).toMatchObject([{ since: 5100, sinceAt: WALL + 100 }]);
    expect(sinceOf(written(WALL - 100), known, later)).toEqual([5000]);
  });

  test("from its recorded start if it may be older than the process", () => {
    const written = { taintsSeenAt: { "k:NoExecute": WALL - 8000 } };
    for (const timeAdded of ["2025-12-31T23:59:50Z", "1970-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]) {
      expect(sinceOf(observedNode("a", { taints: [at(timeAdded)], ...written }), [], now)).toEqual([-3000]);
    }
  });

  test("not from a recorded start in the future or before its node", () => {
    const sights = (writtenAt: number) => ({ taintsSeenAt: { "k:NoExecute": writtenAt }, createdAt: WALL - 60_000 });
    const taints = [at("2025-12-31T23:59:50Z")];
    expect(sinceOf(observedNode("a", { taints, ...sights(WALL + 60_000) }), [], now)).toEqual([5000]);
    expect(sinceOf(observedNode("a", { taints, ...sights(0) }), [], now)).toEqual([-55_000]);
  });

  test("not at a recorded start after the taint was first seen", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] });
    const known = knownTaints(node, [], now);
    expect(sinceOf({ ...node, taintsSeenAt: { "k:NoExecute": WALL + 30_000 } }, known, later)).toEqual([-5000]);
  });

  test("without timeAdded when each was first seen", () => {
    const known = knownTaints(observedNode("a", { taints: [noExecute("first")] }), [], now);
    const both = observedNode("a", { taints: [noExecute("first"), noExecute("second")] });
    expect(sinceOf(both, known, later)).toEqual([5000, 65_000]);
  });

  test("without timeAdded from a whole millisecond, as the record has", () => {
    const node = observedNode("a", { taints: [noExecute("bare")] });
    const [known] = knownTaints(node, [], { ...now, monotonicMs: 5000.25, wallMs: WALL + 0.25 });
    expect(known).toMatchObject({ since: 5001, sinceAt: WALL + 1 });
  });

  test("without timeAdded at its recorded start", () => {
    const node = observedNode("a", {
      taints: [noExecute("bare")],
      taintsSeenAt: { "bare:NoExecute": WALL - 100_000, "other:NoExecute": 0 },
    });
    expect(sinceOf(node, [], now)).toEqual([-95_000]);
  });

  test("only if NoExecute; an unreadable timeAdded counts as none", () => {
    const node = observedNode("a", { taints: [{ key: "k", effect: "NoSchedule" }, at("yesterday")] });
    expect(sinceOf(node, [], now)).toEqual([5000]);
  });
});

describe("the record of taint starts", () => {
  const bare = noExecute("bare");
  const sights = (taints = [bare], taintsSeenAt?: Record<string, number>, counted = taints) => {
    const node = observedNode("a", { taints, ...(taintsSeenAt === undefined ? {} : { taintsSeenAt }) });
    return startsToWrite(node, knownTaints(node, [], now), { countedTaints: () => new Set(counted), nowMs: 5000 });
  };
  /** What is recorded if a countdown depends on every taint, long after all of them were first seen. */
  const settled = (node: ObservedNode, known: readonly KnownTaint[], nowMs = 100_000) =>
    startsToWrite(node, known, { countedTaints: () => new Set(node.taints), nowMs });

  test("holds the microsecond that a countdown depends on", () => {
    expect(sights()).toEqual({ "bare:NoExecute": "2026-01-01T00:00:00.000000Z" });
  });

  test("is empty while no countdown depends on it", () => {
    expect(sights([bare], undefined, [])).toBeNull();
  });

  test("is empty for a taint whose timeAdded is accepted", () => {
    expect(sights([at("2026-01-01T00:00:00Z")])).toBeNull();
  });

  test.each([
    ["long before it appeared", "1970-01-01T00:00:00Z", "2026-01-01T00:00:59.500000Z"],
    ["long after it appeared", "2099-01-01T00:00:00Z", "2026-01-01T00:01:00.000000Z"],
  ])("holds the start of a taint stamped %s", (_what, timeAdded, written) => {
    const node = observedNode("a", { taints: [at(timeAdded)] });
    const known = knownTaints(node, [], later);
    expect(settled(node, known)).toEqual({ "k:NoExecute": written });
  });

  test("keeps a restamped taint's first stamp, even if back", () => {
    const first = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] });
    const again = observedNode("a", { taints: [at("2026-01-01T00:01:00Z")] });
    const known = knownTaints(again, knownTaints(first, [], now), later);
    const written = { "k:NoExecute": "2025-12-31T23:59:50.000000Z" };
    expect(settled(again, known)).toEqual(written);
    const taintsSeenAt = { "k:NoExecute": WALL - 10_000 };
    expect(settled({ ...again, taintsSeenAt }, known)).toBeNull();
    const back = { ...first, taintsSeenAt };
    expect(settled(back, knownTaints(back, known, later))).toBeNull();
  });

  test("is written once and stays when another taint is added", () => {
    const written = { "bare:NoExecute": WALL - 5000 };
    expect(sights([bare], written)).toBeNull();
    expect(sights([bare, noExecute("new")], written)).toEqual({
      "bare:NoExecute": "2025-12-31T23:59:55.000000Z",
      "new:NoExecute": "2026-01-01T00:00:00.000000Z",
    });
  });

  test("needs no pass over the schedules when it is complete", () => {
    const node = observedNode("a", { taints: [bare], taintsSeenAt: { "bare:NoExecute": WALL } });
    const countedTaints = vi.fn(() => new Set([bare]));
    expect(startsToWrite(node, knownTaints(node, [], now), { countedTaints, nowMs: 5000 })).toBeNull();
    expect(countedTaints).not.toHaveBeenCalled();
  });

  test("is corrected if it holds an earlier instant than ours", () => {
    const known = knownTaints(observedNode("a", { taints: [bare] }), [], now);
    const node = observedNode("a", { taints: [bare], taintsSeenAt: { "bare:NoExecute": WALL - 5000 } });
    expect(settled(node, knownTaints(node, known, later))).toEqual({
      "bare:NoExecute": "2026-01-01T00:00:00.000000Z",
    });
  });

  describe("by a slow clock", () => {
    // Nothing has corrected it since a suspension: the taint came 8 s ago by the API's clock, and will in 12 s by ours.
    const node = observedNode("a", { taints: [at("2026-01-01T00:01:12Z")] });
    const known = knownTaints(node, [], later);
    const corrected = { ...later, monotonicMs: 67_000, wallMs: WALL + 82_000, absentMs: 65_000 };

    test("waits for a right clock", () => {
      expect(settled(node, known, later.monotonicMs)).toBeNull();
      const right = knownTaints(node, known, corrected);
      expect(settled(node, right, corrected.monotonicMs)).toEqual({ "k:NoExecute": "2026-01-01T00:01:20.000000Z" });
    });

    test("keeps the others meanwhile", () => {
      const taintsSeenAt = { "k:NoExecute": WALL + 73_000 };
      expect(settled({ ...node, taintsSeenAt }, known, later.monotonicMs)).toBeNull();
      const both = { ...node, taints: [...node.taints, bare], taintsSeenAt };
      expect(settled(both, knownTaints(both, known, later), later.monotonicMs)).toEqual({
        "bare:NoExecute": "2026-01-01T00:01:00.000000Z",
        "k:NoExecute": "2026-01-01T00:01:13.000000Z",
      });
    });

    test("waits ten seconds", () => {
      expect(settled(node, known, later.monotonicMs + 9999)).toBeNull();
      expect(settled(node, known, later.monotonicMs + 10_000)).toEqual({
        "k:NoExecute": "2026-01-01T00:01:00.000000Z",
      });
    });
  });

  test("of a taint that is gone is removed", () => {
    expect(sights([], { "bare:NoExecute": WALL })).toEqual({});
  });

  test("stays while the taint does, even without a countdown", () => {
    expect(sights([bare], { "bare:NoExecute": WALL }, [])).toBeNull();
  });
});

test("onApiTime gives starts on the API's clock, independent of our clocks", () => {
  const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z"), noExecute("bare")] }), [], now);
  expect(onApiTime(known).map(({ since }) => since)).toEqual([WALL - 10_000, WALL]);
  expect(onMonotonic(WALL - 300_000, now)).toBe(-295_000);
});

describe("a swapped taint", () => {
  const [first, second] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] as const;
  const swapAt = WALL - 10_000;
  const taintSwap = { at: swapAt, firstKey: first, firstAt: WALL - 30_000, secondAt: swapAt };
  const swapped = observedNode("a", {
    taints: [noExecute(second, { timeAdded: new Date(swapAt).toISOString() })],
    taintSwap,
  });
  const lineage = { first: { key: first }, second: { key: second }, since: -25_000, secondSince: -5000 };

  test("continues the lineage of both since the first", () => {
    expect(knownTaints(swapped, [], now)).toMatchObject([{ since: -5000, lineage }]);
  });

  test("keeps known starts after a step of the wall clock", () => {
    const stepped = { ...now, monotonicMs: 6000, wallMs: WALL + 3_600_000 };
    expect(knownTaints(swapped, knownTaints(swapped, [], now), stepped)).toMatchObject([{ since: -5000, lineage }]);
    const before = observedNode("a", { taints: [noExecute(first, { timeAdded: "2025-12-31T23:59:30Z" })] });
    const [known] = knownTaints(swapped, knownTaints(before, [], now), stepped);
    expect(known?.lineage).toMatchObject({ since: -25_000 });
  });

  test("has its lineage on the API's clock too", () => {
    const [swappedTaint] = onApiTime(knownTaints(swapped, [], now));
    expect(swappedTaint).toMatchObject({ since: swapAt, lineage: { since: WALL - 30_000, secondSince: swapAt } });
  });
});

test.each([
  ["the same taint and seconds are the same cause", {}, true],
  ["other seconds are another", { tolerationSeconds: 60 }, false],
  ["another taint is another", { taint: noExecute("other") }, false],
  ["the seconds of another taint are another", { toleratedTaint: noExecute("other") }, false],
  ["the same taint with another stamp is the same", { taint: at("2026-01-01T00:00:00Z") }, true],
])("of two evictions, %s", (_what, fields, isSame) => {
  const eviction = { at: 0, taint: noExecute("k"), tolerationSeconds: 30, toleratedTaint: null };
  expect(isSameCause(eviction, { ...eviction, ...fields })).toBe(isSame);
});
