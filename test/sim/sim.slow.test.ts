/**
 * Simulated fleets under seeded faults: seeds that failed once, and enough seeds to reach every dangerous situation.
 */
import { expect, it } from "vitest";
import { runSeeds } from "./crew.ts";
import { keptSeeds } from "./kept-seeds.ts";
import { MARKS_OF_CLASS } from "./marks.ts";
import { simulate } from "./simulate.ts";
import { drawSwarm, FAULT_CLASSES } from "./swarm.ts";

/** These reach every situation below. Where they no longer do, as after a change of a fault class, more seeds run. */
const COVERING = [1619, 68, 45, 47, 138, 7, 8, 59, 231, 3, 48, 206, 66, 87, 234];
const SEEDS = { least: 60, most: 500 } as const;
const MINUTES_MAX = 15;

/** The dangerous situations that the invariants are for. */
const DANGEROUS = [
  "taints changed on a tainted node",
  "NoExecute taint swapped",
  "pod status written",
  "pod replaced under its name",
  "node replaced under its name",
  "process restarted during a countdown",
  "node recovered within the round trip of a deletion",
  "pulse gap inside a grace",
  "pulse gap that blinds a reader",
  "two owners of a shard",
  "stale ask refused",
  "write with a lost reply reported as unknown",
  "lost reply on a GET",
  "lost reply on a PATCH",
  "lost reply on a DELETE",
  "GET refused",
  "PATCH refused",
  "PATCH never answered",
  "zone stopped",
  "share of exactly the threshold",
  "full disruption entered",
  "full disruption left",
  "turnover of nodes",
  ...["outages", "records"].flatMap((memory) => [
    `memory of ${memory}: killed at its write`,
    `memory of ${memory}: killed at its read`,
  ]),
  ...FAULT_CLASSES.flatMap((name) => MARKS_OF_CLASS[name] ?? []),
];

/** Separate tests cover the bugs of the others; `npm run sim -- --kept` runs all. */
const failedOnce = keptSeeds().filter(({ hasTest }) => !hasTest);

it.each(failedOnce)("recovers with seed $seed: $story", ({ seed, draw }) => {
  expect(simulate(seed, drawSwarm(seed, draw)).problem).toBeNull();
});

it(
  "reaches every dangerous situation, writes nothing wrong and recovers",
  async () => {
    const { failures, sometimes } = await runSeeds({
      from: 1,
      count: SEEDS.most,
      ahead: COVERING,
      forMs: MINUTES_MAX * 60_000,
      isEnough: ({ runs, sometimes: seen }) => runs >= SEEDS.least && DANGEROUS.every((each) => seen.has(each)),
    });
    expect(failures.map(({ seed, problem }) => `npm run sim -- --seed ${seed}: ${problem}`)).toEqual([]);
    expect(DANGEROUS.filter((situation) => !sometimes.has(situation))).toEqual([]);
  },
  MINUTES_MAX * 70_000,
);
