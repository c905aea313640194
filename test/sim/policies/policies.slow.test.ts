/** Simulated fleets whose node policies and freezes change: a few seeds. `npm run sim -- --policies` runs more. */
import { expect, test } from "vitest";
import { runSeeds } from "../crew.ts";

const SEEDS = 6;
const MINUTES_MAX = 5;
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
