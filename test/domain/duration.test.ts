/** Shows that durations are read and written as Go's flags write them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDuration, parseDuration } from "../../services/domain/duration.ts";

describe("parseDuration", () => {
  test.each([
    ["0", 0],
    ["0s", 0],
    ["50s", 50_000],
    ["1m30s", 90_000],
    ["1h", 3_600_000],
    ["1h0m0.5s", 3_600_500],
    ["300ms", 300],
    [".5s", 500],
    ["1.s", 1000],
    ["2.3s", 2300],
    ["250us", 0.25],
    ["250µs", 0.25],
    ["1ns", 0.000001],
    ["-5s", -5000],
    ["+5s", 5000],
  ])("reads %s as %d ms", (text, expected) => expect(parseDuration(text)).toBe(expected));

  test.each(["", "5", "s", "5x", "5s 3m", "5 s", "1d", "--5s", "1e3s", ".s", "5s3", "∞", "5S"])(
    "reads no duration in %j",
    (text) => expect(parseDuration(text)).toBeNull(),
  );
});

describe("formatDuration", () => {
  test.each([
    [0, "0s"],
    [300, "300ms"],
    [1000, "1s"],
    [1500, "1.5s"],
    [50_000, "50s"],
    [90_000, "1m30s"],
    [300_000, "5m"],
    [5_400_000, "1h30m"],
    [3_600_001, "1h0s1ms"],
    [-5000, "-5s"],
  ])("writes %d ms as %s", (durationMs, expected) => expect(formatDuration(durationMs)).toBe(expected));

  test("writes whole milliseconds up to 11 days as they are read", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e9, max: 1e9 }), (ms) => parseDuration(formatDuration(ms)) === (ms || 0)),
    );
  });
});
