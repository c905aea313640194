/** When pulses are due: at whole periods of the wall clock, so that processes wake each other once. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { pauseUntilPulseMs } from "../../../services/platform/process/pulse.policy.ts";

test.each([
  [5_000, 1000, 1000],
  [5_250, 1000, 750],
  [5_900, 1000, 100],
  [5_901, 1000, 1099],
  [5_999.9, 1000, 1000.1],
  [-250, 1000, 250],
])("at %d ms a pulse each %d ms is due in %d ms", (wallMs, periodMs, pauseMs) => {
  expect(pauseUntilPulseMs(wallMs, periodMs)).toBeCloseTo(pauseMs, 6);
});

test("after the first pause, pulses are due at whole periods, about one period apart", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2e12 }), fc.integer({ min: 20, max: 60_000 }), (startMs, periodMs) => {
      const firstMs = startMs + pauseUntilPulseMs(startMs, periodMs);
      expect(firstMs % periodMs).toBe(0);
      expect(firstMs - startMs).toBeLessThanOrEqual(1.1 * periodMs);
      expect(pauseUntilPulseMs(firstMs, periodMs)).toBe(periodMs);
      expect(pauseUntilPulseMs(firstMs - 1, periodMs)).toBe(periodMs + 1);
    }),
  );
});

test("whenever the clock is set, the pause is at most a tenth longer than the period", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 2e12 }), fc.integer({ min: 1, max: 60_000 }), (wallMs, periodMs) => {
      const pauseMs = pauseUntilPulseMs(wallMs, periodMs);
      expect(pauseMs).toBeGreaterThanOrEqual(periodMs / 10);
      expect(pauseMs).toBeLessThan(1.1 * periodMs);
    }),
  );
});
