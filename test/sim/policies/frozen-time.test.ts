/** The model of frozen time that the checks of simulated policies use. */
import { expect, test } from "vitest";
import { endAfter } from "./frozen-time.ts";

test.each([
  ["no freeze", [], 30],
  ["a freeze on its way", [[10, 20]], 40],
  [
    "freezes that overlap",
    [
      [10, 20],
      [15, 25],
    ],
    45,
  ],
  ["a freeze that it starts in", [[-5, 5]], 35],
  ["a freeze after its end", [[31, 90]], 30],
  ["a freeze without an end", [[10, Infinity]], Infinity],
] as const)("the model ends a countdown of 30 after %s", (_what, times, endAt) => {
  expect(endAfter(0, 30, times)).toBe(endAt);
});
