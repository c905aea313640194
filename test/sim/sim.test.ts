/**
 * Simulated fleets under seeded faults: what broke once, and seeds from 1 on. `npm run sim` runs as many as one likes.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runSeeds } from "./crew.ts";
import { simulate } from "./simulate.ts";

const SEEDS = process.env.CI === undefined ? 20 : 200;
const MINUTES_MAX = 8;

const failedOnce = readFileSync(new URL("seeds.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^\d/.test(line))
  .map((line) => ({ seed: Number.parseInt(line, 10), story: line.replace(/^\d+ /, "") }));

describe("the simulated fleet", () => {
  it.each(failedOnce)("comes right with seed $seed: $story", ({ seed }) => {
    expect(simulate(seed).problem).toBeNull();
  });

  it(
    "writes nothing wrong while things fail and comes right when they stop, whatever the seed",
    async () => {
      const { failures, sometimes } = await runSeeds({ from: 1, count: SEEDS, forMs: MINUTES_MAX * 60_000 });
      expect(failures.map(({ seed, problem }) => `npm run sim -- --seed ${seed}: ${problem}`)).toEqual([]);
      for (const situation of [
        "node made Unknown",
        "NoExecute taint put on",
        "NoExecute taint taken off",
        "pod evicted",
      ]) {
        expect(sometimes.get(situation)?.runs ?? 0, situation).toBeGreaterThan(0);
      }
    },
    MINUTES_MAX * 70_000,
  );
});
