/** Frozen time: a countdown keeps what is left of it over every arrangement of freezes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import {
  boundedIntervals,
  countdownEndAt,
  countdownStartAt,
  frozenAt,
  mergedIntervals,
  onClock,
} from "../../../services/domain/paused-time/frozen-time.ts";

const frozen = (...spans: readonly (readonly [number, number | null])[]): FrozenInterval[] =>
  spans.map(([fromAt, toAt]) => ({ fromAt, toAt }));
const NEVER = Number.POSITIVE_INFINITY;

describe("merged intervals", () => {
  it.each([
    ["apart", frozen([5, 6], [1, 2]), frozen([1, 2], [5, 6])],
    ["that touch", frozen([1, 3], [3, 5]), frozen([1, 5])],
    ["that overlap", frozen([1, 4], [3, 5]), frozen([1, 5])],
    ["one in another", frozen([1, 9], [3, 5]), frozen([1, 9])],
    ["one without an end around others", frozen([3, 5], [1, null], [7, 8]), frozen([1, null])],
    ["of which one is empty", frozen([4, 4], [6, 5], [1, 2]), frozen([1, 2])],
  ])("%s", (_what, given, merged) => {
    expect(mergedIntervals(given)).toEqual(merged);
  });

  it("are frozen from their first instant up to their last", () => {
    const intervals = frozen([10, 20], [30, null]);
    expect([9, 10, 19, 20, 29, 30, 1e9].map((at) => frozenAt(intervals, at) !== null)).toEqual([
      false,
      true,
      true,
      false,
      false,
      true,
      true,
    ]);
  });
});

describe("a countdown of 100 that starts at 50", () => {
  it.each([
    ["without a freeze", frozen(), 150],
    ["with a freeze before it", frozen([10, 50]), 150],
    ["with a freeze that it starts in", frozen([10, 70]), 170],
    ["with a freeze from its start on", frozen([50, 70]), 170],
    ["with a freeze within it", frozen([60, 70]), 160],
    ["with two freezes within it", frozen([60, 70], [80, 100]), 180],
    ["with one in the time that another added", frozen([60, 90], [170, 175]), 185],
    ["with a freeze just before its end", frozen([149, 159]), 160],
    ["with a freeze that begins at its end", frozen([150, 160]), 150],
    ["with a freeze after it", frozen([151, 160]), 150],
    ["with an endless freeze within it", frozen([60, null]), NEVER],
    ["with an endless freeze after it", frozen([150, null]), 150],
  ])("%s", (_what, intervals, endAt) => {
    expect(countdownEndAt(50, 100, intervals)).toBe(endAt);
  });

  it.each([
    ["without a freeze", frozen(), 150],
    ["with a freeze before it", frozen([10, 50]), 150],
    ["with a freeze within it", frozen([60, 70]), 160],
    ["with two freezes within it", frozen([60, 70], [80, 100]), 180],
    ["with one in the time that another added", frozen([60, 90], [170, 175]), 185],
    ["with a freeze after it", frozen([151, 160]), 150],
    ["with an endless freeze after it", frozen([150, null]), 150],
  ])("is found %s", (_what, intervals, endAt) => {
    expect(countdownStartAt(endAt, 100, intervals)).toBe(50);
  });

  it("that began in a freeze began at its end", () => {
    expect(countdownStartAt(170, 100, frozen([10, 70]))).toBe(70);
  });
});

describe("a countdown of nothing", () => {
  it.each([
    ["outside every freeze ends at once", frozen([60, 70]), 50],
    ["in a freeze ends with it", frozen([40, 70]), 70],
    ["as one begins ends with it", frozen([50, 70]), 70],
    ["in an endless freeze never ends", frozen([40, null]), NEVER],
  ])("%s", (_what, intervals, endAt) => {
    expect(countdownEndAt(50, 0, intervals)).toBe(endAt);
  });
});

const spans = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 60 })).map(([at, ms]) => [at, at + ms] as const),
  { maxLength: 6 },
);

describe("any freezes", () => {
  it("leave a countdown its duration of unfrozen time", () => {
    fc.assert(
      fc.property(spans, fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 100 }), (drawn, startAt, ms) => {
        const intervals = mergedIntervals(frozen(...drawn));
        const endAt = countdownEndAt(startAt, ms, intervals);
        let counted = 0;
        for (let at = startAt; at < endAt; at++) if (frozenAt(intervals, at) === null) counted += 1;
        expect(counted).toBe(ms);
        expect(frozenAt(intervals, endAt - 1)).toBeNull();
      }),
    );
  });

  it("bounded in number make no countdown shorter", () => {
    fc.assert(
      fc.property(spans, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 200 }), (drawn, most, startAt) => {
        const all = mergedIntervals(frozen(...drawn));
        const bounded = boundedIntervals(all, most);
        expect(bounded.length).toBeLessThanOrEqual(most);
        expect(countdownEndAt(startAt, 50, bounded)).toBeGreaterThanOrEqual(countdownEndAt(startAt, 50, all));
      }),
    );
  });

  it("bounded lose the shortest time between two", () => {
    expect(boundedIntervals(frozen([0, 1], [5, 6], [8, 9], [20, null]), 3)).toEqual(frozen([0, 1], [5, 9], [20, null]));
  });
});

it("frozen time on another clock has the same length", () => {
  expect(onClock(frozen([1, 3], [5, null]), 10)).toEqual(frozen([11, 13], [15, null]));
});
