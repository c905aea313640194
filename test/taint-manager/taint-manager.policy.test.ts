/** Tests of what counts from when on a node, which pods are concerned, and what is written down. */
import { describe, expect, test, vi } from "vitest";
import {
  firstSightsToWrite,
  isEvictable,
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
    expect(sinceOf(written(WALL + 100), known, later)).toEqual([5100]);
    expect(sinceOf(written(WALL - 100), known, later)).toEqual([5000]);
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
