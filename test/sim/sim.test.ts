/** How seeds are run: which end, and when enough have. sim.slow.test.ts runs them for what they show. */
import { expect, it } from "vitest";
import { ENDLESS, runSeeds } from "./crew.ts";

const MINUTES_MAX = 5;

it("a run that does not end is a failure", async () => {
  const { failures } = await runSeeds({ from: 1, count: 3, forMs: MINUTES_MAX * 60_000, seedMaxMs: 1 });
  expect(failures.map(({ problem }) => problem)).toEqual([ENDLESS, ENDLESS, ENDLESS]);
});

it("seeds without an end run until what is asked for is shown", async () => {
  const asked = { from: 1, count: Number.POSITIVE_INFINITY, forMs: MINUTES_MAX * 60_000, seedMaxMs: 1 };
  const { runs } = await runSeeds({ ...asked, isEnough: (soFar) => soFar.runs >= 3 });
  expect(runs).toBeGreaterThanOrEqual(3);
});
