/** Instants in the Kubernetes formats, written and read back. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { apiMicroTime, apiTime, epochMsOf } from "../../services/domain/api-time.ts";

const year2200 = Date.parse("2200-01-01T00:00:00Z");
const digits = (value: number, count: number): string => String(value).padStart(count, "0");

describe("API times", () => {
  test("a MicroTime survives a round trip", () => {
    fc.assert(
      fc.property(fc.nat(year2200 / 1000), fc.nat(999_999), (second, micros) => {
        const text = `${new Date(second * 1000).toISOString().slice(0, 19)}.${digits(micros, 6)}Z`;
        expect(apiMicroTime(epochMsOf(text) ?? Number.NaN)).toBe(text);
      }),
    );
  });

  test("a Time is cut off at the second, a MicroTime at the microsecond", () => {
    expect(apiTime(Date.parse("2026-01-01T00:00:59.999Z"))).toBe("2026-01-01T00:00:59Z");
    expect(apiMicroTime(Date.parse("2026-01-01T00:00:59.999Z"))).toBe("2026-01-01T00:00:59.999000Z");
  });

  test("time zones, fractions of any length and absent times can be read", () => {
    const instant = Date.parse("2026-01-01T00:00:00.5Z");
    expect(epochMsOf("2026-01-01T02:00:00.5+02:00")).toBe(instant);
    expect(epochMsOf("2026-01-01T00:00:00.500000Z")).toBe(instant);
    expect(epochMsOf("2026-01-01T00:00:00.500000000Z")).toBe(instant);
    expect(epochMsOf(null)).toBeNull();
    expect(epochMsOf("soon")).toBeNull();
  });
});
