/** Chance that a seed repeats, a stream of its own for each text. It is not fit for secrets. */
import type { Random } from "../../protocols/ports.ts";
import { fnv1a } from "../../protocols/subjects.ts";

/**
 * Repeatable chance: the same seed always gives the same numbers. A text seed such as `42/loss` gives a separate
 * stream, so one more draw in one place does not shift the draws of another. The generator is mulberry32.
 */
export function seededRandom(seed: number | string): Random {
  let state = fnv1a(String(seed));
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
