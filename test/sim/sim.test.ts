/** Simulated fleets under seeded faults: a few seeds. sim.slow.test.ts runs more, `npm run sim` any number. */
import { expect, it } from "vitest";
import { ENDLESS, runSeeds } from "./crew.ts";

const SEEDS = 6;
const MINUTES_MAX = 5;

/** The situations without which even a few seeds show nothing. */
const EVERYDAY = ["node made Unknown", "NoExecute taint put on", "NoExecute taint taken off", "pod evicted"];

it(
  "a simulated fleet writes nothing wrong during faults and recovers after them",
  async () => {
    const { failures, sometimes } = await runSeeds({ from: 1, count: SEEDS, forMs: MINUTES_MAX * 60_000 });
    expect(failures.map(({ seed, problem }) => `npm run sim -- --seed ${seed}: ${problem}`)).toEqual([]);
    expect(EVERYDAY.filter((situation) => !sometimes.has(situation))).toEqual([]);
  },
  MINUTES_MAX * 70_000,
);

it("a run that does not end is a failure", async () => {
  const { failures } = await runSeeds({ from: 1, count: 3, forMs: MINUTES_MAX * 60_000, seedMaxMs: 1 });
  expect(failures.map(({ problem }) => problem)).toEqual([ENDLESS, ENDLESS, ENDLESS]);
});

it("seeds without an end run until what is asked for is shown", async () => {
  const asked = { from: 1, count: Number.POSITIVE_INFINITY, forMs: MINUTES_MAX * 60_000, seedMaxMs: 1 };
  const { runs } = await runSeeds({ ...asked, isEnough: (soFar) => soFar.runs >= 3 });
  expect(runs).toBeGreaterThanOrEqual(3);
});
