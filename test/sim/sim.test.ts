/** Simulated fleets under seeded faults: a few seeds. `npm run sim` runs as many as you like. */
import { expect, it } from "vitest";
import { runSeeds } from "./crew.ts";

const SEEDS = 20;
const MINUTES_MAX = 2;

/** Without these nothing has been shown, however few the seeds. */
const EVERYDAY = ["node made Unknown", "NoExecute taint put on", "NoExecute taint taken off", "pod evicted"];

it(
  "a simulated fleet writes nothing wrong while things fail and comes right when they stop, whatever the seed",
  async () => {
    const { failures, sometimes } = await runSeeds({ from: 1, count: SEEDS, forMs: MINUTES_MAX * 60_000 });
    expect(failures.map(({ seed, problem }) => `npm run sim -- --seed ${seed}: ${problem}`)).toEqual([]);
    expect(EVERYDAY.filter((situation) => !sometimes.has(situation))).toEqual([]);
  },
  MINUTES_MAX * 70_000,
);
