/** Counts by time: never more spans than allowed, and never a smaller sum. */
import { expect, test } from "vitest";
import { boundedSpans, countOf } from "../../services/structures/counted-spans.ts";

const at = (...instants: number[]) => instants.map((each) => ({ fromAt: each, toAt: each, count: 1 }));

test.each([1, 2, 3, 32])("at most %i spans hold the sum of all", (most) => {
  const spans = boundedSpans(at(...Array.from({ length: 1000 }, (_, index) => index * index)), most);
  expect(spans.length).toBeLessThanOrEqual(most);
  expect(countOf(spans)).toBe(1000);
  expect(spans.at(-1)?.toAt).toBe(999 * 999);
});

test.each([
  [[], []],
  [at(5, 5, 5), [{ fromAt: 5, toAt: 5, count: 3 }]],
  [
    at(9, 0, 10),
    [
      { fromAt: 0, toAt: 0, count: 1 },
      { fromAt: 9, toAt: 10, count: 2 },
    ],
  ],
])("%j become %j in two spans", (spans, expected) => {
  expect(boundedSpans(spans, 2)).toEqual(expected);
});

test("no event ends earlier, or later than one part of the time", () => {
  const instants = [0, 1, 30, 31, 60, 99, 100];
  const spans = boundedSpans(at(...instants), 4);
  for (const instant of instants) {
    const span = spans.find(({ fromAt, toAt }) => fromAt <= instant && instant <= toAt);
    expect((span?.toAt ?? Number.NaN) - instant).toBeGreaterThanOrEqual(0);
    expect((span?.toAt ?? Number.NaN) - instant).toBeLessThanOrEqual(25);
  }
});
