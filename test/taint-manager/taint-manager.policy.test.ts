/** Tests of what counts from when on a node, which pods are concerned, and what is written down. */
import { describe, expect, test, vi } from "vitest";
import {
  firstSightsToWrite,
  isEvictable,
  isSameCause,
  knownTaints,
  onApiTime,
  onMonotonic,
  withoutEarlierSights,
} from "../../services/taint-manager/taint-manager.policy.ts";
import { noExecute, observedNode, observedPod } from "../support/observed-objects.ts";

const WALL = Date.UTC(2026, 0, 1);
const now = { monotonicMs: 5000, wallMs: WALL };
const later = { monotonicMs: 65_000, wallMs: WALL + 60_000 };
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

describe("from when a taint counts", () => {
  test("from its timeAdded, by its distance from now", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] });
    expect(sinceOf(node, [], now)).toEqual([-5000]);
  });

  test("one stamped ahead of our clock begins in the future, so that no deadline comes before its timeAdded", () => {
    expect(sinceOf(observedNode("a", { taints: [at("2026-01-01T00:00:03Z")] }), [], now)).toEqual([8000]);
  });

  test("a step of the wall clock moves nothing that is known", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z"), noExecute("bare")] });
    const known = knownTaints(node, [], now);
    const stepped = { monotonicMs: 6000, wallMs: WALL + 3_600_000 };
    expect(sinceOf(node, known, stepped)).toEqual([-5000, 5000]);
  });

  test("another timeAdded is another beginning", () => {
    const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), [], now);
    expect(sinceOf(observedNode("a", { taints: [at("2026-01-01T00:00:30Z")] }), known, later)).toEqual([35_000]);
  });

  test("without timeAdded from first sight, and later ones do not move it", () => {
    const node = observedNode("a", { taints: [noExecute("bare")] });
    const known = knownTaints(node, [], now);
    expect(sinceOf(node, known, later)).toEqual([5000]);
  });

  test("without timeAdded from the later of two first sights, ours and the one written down", () => {
    const node = observedNode("a", { taints: [noExecute("bare")] });
    const written = (sightAt: number) => observedNode("a", { ...node, taintsSeenAt: { "bare:NoExecute": sightAt } });
    const known = knownTaints(node, [], now);
    expect(knownTaints(written(WALL + 100), known, later)).toMatchObject([{ since: 5100, sinceAt: WALL + 100 }]);
    expect(sinceOf(written(WALL - 100), known, later)).toEqual([5000]);
  });

  test("with timeAdded from that, whatever is written down under its name", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")], taintsSeenAt: { "k:NoExecute": WALL } });
    expect(sinceOf(node, [], now)).toEqual([-5000]);
    expect(sinceOf(node, knownTaints(node, [], now), later)).toEqual([-5000]);
  });

  test("without timeAdded each from its own first sight", () => {
    const known = knownTaints(observedNode("a", { taints: [noExecute("first")] }), [], now);
    const both = observedNode("a", { taints: [noExecute("first"), noExecute("second")] });
    expect(sinceOf(both, known, later)).toEqual([5000, 65_000]);
  });

  test("without timeAdded from now, when what is written down is left of a taint that stood before", () => {
    const taintsSeenAt = { "bare:NoExecute": WALL - 100_000 };
    const again = observedNode("a", { taints: [noExecute("bare")], taintsSeenAt });
    expect(sinceOf(withoutEarlierSights(again, observedNode("a", { taintsSeenAt })), [], now)).toEqual([5000]);
    expect(sinceOf(withoutEarlierSights(again, again), [], now)).toEqual([-95_000]);
  });

  test("without timeAdded from a whole millisecond, so that what is written down is what is counted by", () => {
    const node = observedNode("a", { taints: [noExecute("bare")] });
    const [known] = knownTaints(node, [], { monotonicMs: 5000.25, wallMs: WALL + 0.25 });
    expect(known).toMatchObject({ since: 5001, sinceAt: WALL + 1 });
  });

  test("without timeAdded from the first sight that somebody wrote down", () => {
    const node = observedNode("a", {
      taints: [noExecute("bare")],
      taintsSeenAt: { "bare:NoExecute": WALL - 100_000, "other:NoExecute": 0 },
    });
    expect(sinceOf(node, [], now)).toEqual([-95_000]);
  });

  test("a taint with another effect does not stand, and an unreadable timeAdded counts as none", () => {
    const node = observedNode("a", { taints: [{ key: "k", effect: "NoSchedule" }, at("yesterday")] });
    expect(sinceOf(node, [], now)).toEqual([5000]);
  });
});

describe("what is written down about first sights", () => {
  const bare = noExecute("bare");
  const sights = (taints = [bare], taintsSeenAt?: Record<string, number>, counted = taints) => {
    const node = observedNode("a", { taints, ...(taintsSeenAt === undefined ? {} : { taintsSeenAt }) });
    return firstSightsToWrite(node, knownTaints(node, [], now), () => new Set(counted));
  };

  test("the instant, to the microsecond, once a countdown rests on it", () => {
    expect(sights()).toEqual({ "bare:NoExecute": "2026-01-01T00:00:00.000000Z" });
  });

  test("nothing while no countdown rests on it", () => {
    expect(sights([bare], undefined, [])).toBeNull();
  });

  test("nothing about a taint with timeAdded", () => {
    expect(sights([at("2026-01-01T00:00:00Z")])).toBeNull();
  });

  test("nothing again once it is written, and the written instant stays when another taint is added", () => {
    const written = { "bare:NoExecute": WALL - 5000 };
    expect(sights([bare], written)).toBeNull();
    expect(sights([bare, noExecute("new")], written)).toEqual({
      "bare:NoExecute": "2025-12-31T23:59:55.000000Z",
      "new:NoExecute": "2026-01-01T00:00:00.000000Z",
    });
  });

  test("no sentence is looked at when all that may be written is", () => {
    const node = observedNode("a", { taints: [bare], taintsSeenAt: { "bare:NoExecute": WALL } });
    const countedTaints = vi.fn(() => new Set([bare]));
    expect(firstSightsToWrite(node, knownTaints(node, [], now), countedTaints)).toBeNull();
    expect(countedTaints).not.toHaveBeenCalled();
  });

  test("an earlier instant that somebody wrote is put right by the one we count from", () => {
    const known = knownTaints(observedNode("a", { taints: [bare] }), [], now);
    const node = observedNode("a", { taints: [bare], taintsSeenAt: { "bare:NoExecute": WALL - 5000 } });
    expect(firstSightsToWrite(node, knownTaints(node, known, later), () => new Set())).toEqual({
      "bare:NoExecute": "2026-01-01T00:00:00.000000Z",
    });
  });

  test("what is written of a taint that is gone is taken away", () => {
    expect(sights([], { "bare:NoExecute": WALL })).toEqual({});
  });

  test("what is written stays while the taint stands, even when no countdown rests on it any more", () => {
    expect(sights([bare], { "bare:NoExecute": WALL }, [])).toBeNull();
  });
});

test("a taint is told by the API's own time, whatever our clocks do", () => {
  const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z"), noExecute("bare")] }), [], now);
  expect(onApiTime(known).map(({ since }) => since)).toEqual([WALL - 10_000, WALL]);
  expect(onMonotonic(WALL - 300_000, now)).toBe(-295_000);
});

describe("a taint that took its opposite's place", () => {
  const [first, second] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] as const;
  const swapAt = WALL - 10_000;
  const taintSwap = { at: swapAt, firstKey: first, firstAt: WALL - 30_000, secondAt: swapAt };
  const swapped = observedNode("a", {
    taints: [noExecute(second, { timeAdded: new Date(swapAt).toISOString() })],
    taintSwap,
  });
  const line = { first: { key: first }, second: { key: second }, since: -25_000, secondSince: -5000 };

  test("continues the line of both, from when the first stood there", () => {
    expect(knownTaints(swapped, [], now)).toMatchObject([{ since: -5000, line }]);
  });

  test("keeps the beginnings that were known, whatever the wall clock does", () => {
    const stepped = { monotonicMs: 6000, wallMs: WALL + 3_600_000 };
    expect(knownTaints(swapped, knownTaints(swapped, [], now), stepped)).toMatchObject([{ since: -5000, line }]);
    const before = observedNode("a", { taints: [noExecute(first, { timeAdded: "2025-12-31T23:59:30Z" })] });
    const [known] = knownTaints(swapped, knownTaints(before, [], now), stepped);
    expect(known?.line).toMatchObject({ since: -25_000 });
  });

  test("is told with its line on the API's own time", () => {
    const [told] = onApiTime(knownTaints(swapped, [], now));
    expect(told).toMatchObject({ since: swapAt, line: { since: WALL - 30_000, secondSince: swapAt } });
  });
});

test.each([
  ["the same taint and the same seconds have the same cause", {}, true],
  ["other seconds have another", { tolerationSeconds: 60 }, false],
  ["another taint has another", { taint: noExecute("other") }, false],
  ["a taint put on anew has another", { taint: at("2026-01-01T00:00:00Z") }, false],
])("of two evictions, %s", (_what, fields, isSame) => {
  const eviction = { at: 0, taint: noExecute("k"), tolerationSeconds: 30 };
  expect(isSameCause(eviction, { ...eviction, ...fields })).toBe(isSame);
});
