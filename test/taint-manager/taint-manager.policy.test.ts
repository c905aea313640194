/** Tests of what counts from when on a node, which pods are concerned, and what is written down. */
import { describe, expect, test, vi } from "vitest";
import {
  isEvictable,
  isSameCause,
  knownTaints,
  onApiTime,
  onMonotonic,
  startsToWrite,
} from "../../services/taint-manager/taint-manager.policy.ts";
import { noExecute, observedNode, observedPod } from "../support/observed-objects.ts";

const WALL = Date.UTC(2026, 0, 1);
/** A process that has just begun: what it sees may have stood for long. */
const now = { monotonicMs: 5000, wallMs: WALL, absentMs: Number.NEGATIVE_INFINITY, isUnbroken: true };
/** The same process a minute later; half a second ago it last saw the whole shard. */
const later = { monotonicMs: 65_000, wallMs: WALL + 60_000, absentMs: 64_500, isUnbroken: true };
/** The same again, but messages were lost in that half second or a watch was broken. */
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

describe("from when a taint counts", () => {
  test("from its timeAdded, by its distance from now", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] });
    expect(sinceOf(node, [], now)).toEqual([-5000]);
  });

  test.each([
    ["one stamped a second ahead of our clock from its timeAdded", "2026-01-01T00:00:01Z", 6000],
    ["one stamped further ahead of our clock from first sight", "2026-01-01T00:00:03Z", 5000],
    ["one stamped in the far future from first sight", "2099-01-01T00:00:00Z", 5000],
    ["one stamped before its node was created from then", "1970-01-01T00:00:00Z", 5000 - 60_000],
    ["one stamped with the second in which its node was created from that", "2025-12-31T23:58:59Z", 5000 - 61_000],
  ])("%s, where the taint stood before we began", (_what, timeAdded, since) => {
    const node = observedNode("a", { taints: [at(timeAdded)], createdAt: WALL - 60_000 });
    expect(sinceOf(node, [], now)).toEqual([since]);
  });

  test("of a node that is created later than now, because a clock was set back, the stamp counts", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")], createdAt: WALL + 60_000 });
    expect(sinceOf(node, [], now)).toEqual([-5000]);
  });

  test.each([
    ["within the time in which it appeared from its timeAdded", "2026-01-01T00:01:00Z", 65_000],
    ["up to a second before that as well", "2026-01-01T00:00:59Z", 64_000],
    ["ten minutes before from the last sight without it", "2025-12-31T23:51:00Z", 64_500],
    ["long ago from the last sight without it", "1970-01-01T00:00:00Z", 64_500],
    ["five minutes ahead from the first sight with it", "2026-01-01T00:06:00Z", 65_000],
    ["in the far future from the first sight with it", "2099-01-01T00:00:00Z", 65_000],
  ])("one that was seen to appear, stamped %s", (_what, timeAdded, since) => {
    expect(sinceOf(observedNode("a", { taints: [at(timeAdded)] }), [], later)).toEqual([since]);
  });

  test("what is written down about one that was seen to appear is left of an earlier one", () => {
    const taintsSeenAt = { "k:NoExecute": WALL - 5000, "bare:NoExecute": WALL - 5000 };
    const node = observedNode("a", { taints: [at("2026-01-01T00:01:00Z"), noExecute("bare")], taintsSeenAt });
    expect(sinceOf(node, [], later)).toEqual([65_000, 65_000]);
  });

  test("a step of the wall clock moves nothing that is known", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z"), noExecute("bare")] });
    const known = knownTaints(node, [], now);
    const stepped = { ...now, monotonicMs: 6000, wallMs: WALL + 3_600_000 };
    expect(sinceOf(node, known, stepped)).toEqual([-5000, 5000]);
  });

  test.each([
    "2026-01-01T00:01:00Z",
    "2026-01-01T00:00:30Z",
    "1970-01-01T00:00:00Z",
    "2099-01-01T00:00:00Z",
    undefined,
  ])("one that stands keeps its beginning when its timeAdded becomes %s", (timeAdded) => {
    const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), [], now);
    const again = observedNode("a", { taints: [noExecute("k", timeAdded === undefined ? {} : { timeAdded })] });
    expect(sinceOf(again, known, later)).toEqual([-5000]);
    const restamped = knownTaints(again, known, later);
    expect(sinceOf(observedNode("a", { taints: [at("2026-01-01T00:02:00Z")] }), restamped, broken)).toEqual([-5000]);
  });

  test("after a break in the sight the same stamp means the same taint, and another one a taint that is new", () => {
    const known = knownTaints(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), [], now);
    expect(sinceOf(observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] }), known, broken)).toEqual([-5000]);
    expect(sinceOf(observedNode("a", { taints: [at("2026-01-01T00:00:30Z")] }), known, broken)).toEqual([35_000]);
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

  test("from what is written down, where the taint stood before we began, whatever its timeAdded says", () => {
    const written = { taintsSeenAt: { "k:NoExecute": WALL - 8000 } };
    for (const timeAdded of ["2025-12-31T23:59:50Z", "1970-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]) {
      expect(sinceOf(observedNode("a", { taints: [at(timeAdded)], ...written }), [], now)).toEqual([-3000]);
    }
  });

  test("not from an instant written down that is still to come, nor from before its node was created", () => {
    const sights = (writtenAt: number) => ({ taintsSeenAt: { "k:NoExecute": writtenAt }, createdAt: WALL - 60_000 });
    const taints = [at("2025-12-31T23:59:50Z")];
    expect(sinceOf(observedNode("a", { taints, ...sights(WALL + 60_000) }), [], now)).toEqual([5000]);
    expect(sinceOf(observedNode("a", { taints, ...sights(0) }), [], now)).toEqual([-55_000]);
  });

  test("not from an instant that somebody writes down later than we saw the taint", () => {
    const node = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] });
    const known = knownTaints(node, [], now);
    expect(sinceOf({ ...node, taintsSeenAt: { "k:NoExecute": WALL + 30_000 } }, known, later)).toEqual([-5000]);
  });

  test("without timeAdded each from its own first sight", () => {
    const known = knownTaints(observedNode("a", { taints: [noExecute("first")] }), [], now);
    const both = observedNode("a", { taints: [noExecute("first"), noExecute("second")] });
    expect(sinceOf(both, known, later)).toEqual([5000, 65_000]);
  });

  test("without timeAdded from a whole millisecond, so that what is written down is what is counted by", () => {
    const node = observedNode("a", { taints: [noExecute("bare")] });
    const [known] = knownTaints(node, [], { ...now, monotonicMs: 5000.25, wallMs: WALL + 0.25 });
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
    return startsToWrite(node, knownTaints(node, [], now), () => new Set(counted));
  };

  test("the instant, to the microsecond, once a countdown rests on it", () => {
    expect(sights()).toEqual({ "bare:NoExecute": "2026-01-01T00:00:00.000000Z" });
  });

  test("nothing while no countdown rests on it", () => {
    expect(sights([bare], undefined, [])).toBeNull();
  });

  test("nothing about a taint whose timeAdded is believed", () => {
    expect(sights([at("2026-01-01T00:00:00Z")])).toBeNull();
  });

  test.each([
    ["long before it appeared", "1970-01-01T00:00:00Z", "2026-01-01T00:00:59.500000Z"],
    ["long after it appeared", "2099-01-01T00:00:00Z", "2026-01-01T00:01:00.000000Z"],
  ])("the instant a taint counts from that is stamped %s", (_what, timeAdded, written) => {
    const node = observedNode("a", { taints: [at(timeAdded)] });
    const known = knownTaints(node, [], later);
    expect(startsToWrite(node, known, () => new Set(node.taints))).toEqual({ "k:NoExecute": written });
  });

  test("the first stamp of a taint that was stamped again, also when it has that stamp again", () => {
    const first = observedNode("a", { taints: [at("2025-12-31T23:59:50Z")] });
    const again = observedNode("a", { taints: [at("2026-01-01T00:01:00Z")] });
    const known = knownTaints(again, knownTaints(first, [], now), later);
    const written = { "k:NoExecute": "2025-12-31T23:59:50.000000Z" };
    expect(startsToWrite(again, known, () => new Set(again.taints))).toEqual(written);
    const taintsSeenAt = { "k:NoExecute": WALL - 10_000 };
    expect(startsToWrite({ ...again, taintsSeenAt }, known, () => new Set(again.taints))).toBeNull();
    const back = { ...first, taintsSeenAt };
    expect(startsToWrite(back, knownTaints(back, known, later), () => new Set(back.taints))).toBeNull();
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
    expect(startsToWrite(node, knownTaints(node, [], now), countedTaints)).toBeNull();
    expect(countedTaints).not.toHaveBeenCalled();
  });

  test("an earlier instant that somebody wrote is put right by the one we count from", () => {
    const known = knownTaints(observedNode("a", { taints: [bare] }), [], now);
    const node = observedNode("a", { taints: [bare], taintsSeenAt: { "bare:NoExecute": WALL - 5000 } });
    expect(startsToWrite(node, knownTaints(node, known, later), () => new Set())).toEqual({
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
  const lineage = { first: { key: first }, second: { key: second }, since: -25_000, secondSince: -5000 };

  test("continues the line of both, from when the first stood there", () => {
    expect(knownTaints(swapped, [], now)).toMatchObject([{ since: -5000, lineage }]);
  });

  test("keeps the beginnings that were known, whatever the wall clock does", () => {
    const stepped = { ...now, monotonicMs: 6000, wallMs: WALL + 3_600_000 };
    expect(knownTaints(swapped, knownTaints(swapped, [], now), stepped)).toMatchObject([{ since: -5000, lineage }]);
    const before = observedNode("a", { taints: [noExecute(first, { timeAdded: "2025-12-31T23:59:30Z" })] });
    const [known] = knownTaints(swapped, knownTaints(before, [], now), stepped);
    expect(known?.lineage).toMatchObject({ since: -25_000 });
  });

  test("is told with its line on the API's own time", () => {
    const [told] = onApiTime(knownTaints(swapped, [], now));
    expect(told).toMatchObject({ since: swapAt, lineage: { since: WALL - 30_000, secondSince: swapAt } });
  });
});

test.each([
  ["the same taint and the same seconds have the same cause", {}, true],
  ["other seconds have another", { tolerationSeconds: 60 }, false],
  ["another taint has another", { taint: noExecute("other") }, false],
  ["the same taint with another stamp has the same", { taint: at("2026-01-01T00:00:00Z") }, true],
])("of two evictions, %s", (_what, fields, isSame) => {
  const eviction = { at: 0, taint: noExecute("k"), tolerationSeconds: 30 };
  expect(isSameCause(eviction, { ...eviction, ...fields })).toBe(isSame);
});
