/** Enough seeds of the simulation to reach every dangerous situation that its invariants are for. */
import { expect, it } from "vitest";
import { runSeeds } from "./crew.ts";
import { MARKS_OF_CLASS } from "./marks.ts";
import { FAULT_CLASSES } from "./swarm.ts";

/** This many seeds reach every situation below, by a wide margin. */
const SEEDS = 200;
const MINUTES_MAX = 8;

/** The dangerous situations that the invariants are for. */
const DANGEROUS = [
  "taints changed on a tainted node",
  "NoExecute taint swapped",
  "pod status written",
  "pod replaced under its name",
  "node replaced under its name",
  "process restarted while a pod is sentenced",
  "node recovered within the round trip of a deletion",
  "pulse gap inside a grace",
  "pulse gap that blinds a reader",
  "two owners of a shard",
  "stale ask refused",
  "write with a lost reply told as such",
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
  ...FAULT_CLASSES.flatMap((name) => MARKS_OF_CLASS[name] ?? []),
];

it(
  "is in every dangerous situation, writes nothing wrong and comes right, whatever the seed",
  async () => {
    const { failures, sometimes } = await runSeeds({ from: 1, count: SEEDS, forMs: MINUTES_MAX * 60_000 });
    expect(failures.map(({ seed, problem }) => `npm run sim -- --seed ${seed}: ${problem}`)).toEqual([]);
    expect(DANGEROUS.filter((situation) => !sometimes.has(situation))).toEqual([]);
  },
  MINUTES_MAX * 70_000,
);
