/** Simulated fleets under seeded faults: what broke once, and a few seeds. `npm run sim` runs as many as you like. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runSeeds } from "./crew.ts";
import { simulate } from "./simulate.ts";
import { drawSwarm, FAULT_CLASSES } from "./swarm.ts";

const SEEDS = 20;
const MINUTES_MAX = 2;

/** Without these nothing has been shown, however few the seeds. */
const EVERYDAY = ["node made Unknown", "NoExecute taint put on", "NoExecute taint taken off", "pod evicted"];

const failedOnce = readFileSync(new URL("seeds.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^\d/.test(line))
  .map((line) => {
    const [, seed, upTo, story] = /^(\d+) (?:upTo=(\w+) )?(.*)$/.exec(line) ?? [];
    const last = FAULT_CLASSES.find((name) => name === upTo);
    return { seed: Number(seed), draw: last === undefined ? {} : { upTo: last }, story };
  });

describe("the simulated fleet", () => {
  it.each(failedOnce)("comes right with seed $seed: $story", ({ seed, draw }) => {
    expect(simulate(seed, drawSwarm(seed, draw)).problem).toBeNull();
  });

  it(
    "writes nothing wrong while things fail and comes right when they stop, whatever the seed",
    async () => {
      const { failures, sometimes } = await runSeeds({ from: 1, count: SEEDS, forMs: MINUTES_MAX * 60_000 });
      expect(failures.map(({ seed, problem }) => `npm run sim -- --seed ${seed}: ${problem}`)).toEqual([]);
      expect(EVERYDAY.filter((situation) => !sometimes.has(situation))).toEqual([]);
    },
    MINUTES_MAX * 70_000,
  );
});
