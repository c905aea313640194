/** The model of frozen time that the checks of simulated policies use. */
import { expect, test } from "vitest";
import { endAfter, FrozenTimes } from "./frozen-time.ts";

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

/** The times between past freezes that count as frozen where Vigil remembers so many, while one may go on. */
function joinedTimes(intervalsMax: number, goesOn: boolean): readonly (readonly [number, number])[] {
  const times = new FrozenTimes(0, intervalsMax);
  const past = [
    [10, 20],
    [60, 70],
    [110, 120],
    [150, 160],
  ] as const;
  const freezes = [...past, ...(goesOn ? ([[990, null]] as const) : [])];
  const everywhere = freezes.map(([since, until]) => ({ name: "oncall", since, until }));
  times.onSnapshot({ fromMs: 0, policies: new Map(), everywhere });
  return times.mostTimes([], 1000).slice(freezes.length);
}

test.each([
  ["none, while Vigil remembers all", 4, false, []],
  ["the shortest, when it remembers one less", 3, false, [[120, 150]]],
  [
    "all of the same length too, when it remembers two less",
    2,
    false,
    [
      [20, 60],
      [70, 110],
      [120, 150],
    ],
  ],
  ["one more, while another freeze goes on", 4, true, [[120, 150]]],
] as const)("past freezes are joined over %s", (_what, intervalsMax, goesOn, joined) => {
  expect(joinedTimes(intervalsMax, goesOn)).toEqual(joined);
});

test("a time between freezes may be joined unless others are surely shorter", () => {
  const times = new FrozenTimes(5, 2);
  for (const [since, until] of [
    [10, 30],
    [70, 90],
    [132, 150],
  ] as const) {
    times.onSnapshot({
      fromMs: since,
      policies: new Map(),
      everywhere: [{ name: "oncall", since: null, until: null }],
    });
    times.onSnapshot({ fromMs: until, policies: new Map(), everywhere: [] });
  }
  expect(endAfter(0, 45, times.mostTimes([], 1000))).toBe(190);
});
