/** The text of remembered outages. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isRemembered } from "../../services/domain/paused-time/outages.ts";
import { outagesText, readOutages } from "../../services/policy/outage-memory.policy.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");

test("an outage that was written is remembered whole, whatever its instants", () => {
  const instant = fc.double({ min: NOW - 3_600_000, max: NOW - 1, noNaN: true });
  fc.assert(
    fc.property(instant, instant, (one, other) => {
      fc.pre(one !== other);
      const outage = { fromAt: Math.min(one, other), toAt: Math.max(one, other) };
      expect(isRemembered(outage, readOutages(outagesText([outage]), NOW))).toBe(true);
    }),
  );
});
