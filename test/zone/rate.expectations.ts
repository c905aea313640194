/** The invariant of eviction rates for any sequence of grants or taints. */
import { expect } from "vitest";

/** The rounding error of clock and tokens for each grant. */
const ROUNDING = 1e-6;

/** Fails when some window of these instants holds more than `burst` + rate × window. */
export function expectNoBurst(atMs: readonly number[], perSecond: number, burst = 1): void {
  let least = Number.POSITIVE_INFINITY;
  for (const [index, at] of atMs.entries()) {
    const unpaid = index - (perSecond * at) / 1000;
    least = Math.min(least, unpaid);
    expect(unpaid - least + 1, `the worst window that ends at ${at} ms`).toBeLessThanOrEqual(
      burst + ROUNDING * (index + 1),
    );
  }
}
