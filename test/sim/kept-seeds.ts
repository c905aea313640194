/** The seeds that failed once (seeds.txt), as the simulator draws and runs them. */
import { readFileSync } from "node:fs";
import { type DrawOptions, FAULT_CLASSES } from "./swarm.ts";

/** A seed that failed once. */
export interface KeptSeed {
  readonly seed: number;
  readonly draw: DrawOptions;
  readonly story: string;
  /** Whether another test, which the description names, covers its bug too. */
  readonly hasTest: boolean;
}

/** All of them, the oldest first. */
export function keptSeeds(): readonly KeptSeed[] {
  const lines = readFileSync(new URL("seeds.txt", import.meta.url), "utf8").split("\n");
  return lines.flatMap((line) => {
    const parts = /^(\d+) (policies )?(?:upTo=(\w+) )?(?:with=(\w+) )?(.*)$/.exec(line) ?? [];
    const [, seed, policies, upTo, always, story = ""] = parts;
    if (seed === undefined) return [];
    const last = FAULT_CLASSES.find((name) => name === upTo);
    const draw = {
      policies: policies !== undefined,
      with: FAULT_CLASSES.filter((name) => name === always),
      ...(last !== undefined && { upTo: last }),
    };
    return [{ seed: Number(seed), draw, story, hasTest: /\.test\.ts[^(]*\)\.?$/.test(story) }];
  });
}
