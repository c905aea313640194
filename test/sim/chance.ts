/** Seeded chance for a run: one stream for each purpose, and ways to draw from it. */
import type { Random } from "../../protocols/ports.ts";
import { seededRandom } from "../support/random.seeded.ts";

/** One stream for each purpose, so an additional draw in one shifts no other. */
export function chanceOf(seed: number, purpose: string): Random {
  return seededRandom(`${seed}/${purpose}`);
}

/** A whole number from `least` to `most`. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** One of several. */
export function oneOf<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.floor(random() * choices.length)];
  if (choice === undefined) throw new RangeError("there is nothing to choose from");
  return choice;
}
