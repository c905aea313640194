/** Simulated fleets whose node policies and freezes change: a few seeds. `npm run sim -- --policies` runs more. */
import { expect, test } from "vitest";
import { runSeeds } from "../crew.ts";
import { endAfter } from "./frozen-time.ts";

const SEEDS = 6;
const MINUTES_MAX = 2;
/** The situations without which even a few seeds show nothing. */
const EVERYDAY = ["policy created", "policy changed", "freeze of a policy", "freeze of all nodes", "pod evicted"];

test(
  "harms no frozen node, exceeds no limit and holds back no healing",
  async () => {
    const order = { from: 1, count: SEEDS, forMs: MINUTES_MAX * 60_000, draw: { policies: true } };
    const { failures, sometimes } = await runSeeds(order);
    expect(failures.map(({ seed, problem }) => `npm run sim -- --policies --seed ${seed}: ${problem}`)).toEqual([]);
    expect(EVERYDAY.filter((situation) => !sometimes.has(situation))).toEqual([]);
  },
  MINUTES_MAX * 70_000,
);

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
