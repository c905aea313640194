/** Chance that a seed repeats. */
import { expect, test } from "vitest";
import { seededRandom } from "./random.seeded.ts";

const draws = (seed: number | string, count = 5) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
};

test("the same seed gives the same numbers, another seed others", () => {
  expect(draws(42)).toEqual(draws(42));
  expect(draws(42)).not.toEqual(draws(43));
  expect(draws("42/loss")).not.toEqual(draws("42/delay"));
});

test("numbers lie in [0, 1) and fill it evenly", () => {
  const numbers = draws("even", 20_000);
  const tenths = Array.from({ length: 10 }, (_, tenth) => numbers.filter((n) => Math.floor(n * 10) === tenth).length);
  expect(tenths.reduce((sum, count) => sum + count, 0)).toBe(20_000);
  expect(Math.min(...tenths)).toBeGreaterThan(1800);
  expect(Math.max(...tenths)).toBeLessThan(2200);
});
