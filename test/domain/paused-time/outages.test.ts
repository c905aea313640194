/** When countdowns end that an outage pauses, and what an outage is. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import {
  isInOutage,
  NO_OUTAGES,
  type OutageTime,
  outageMinMs,
  outagesBetween,
  outagesOver,
  silenceCountdownEndAt,
  UNKNOWN_START_AT,
} from "../../../services/domain/paused-time/outages.ts";

const S = 1000;
const GRACE_MS = 50 * S;
const over = (fromS: number, toS: number): OutageTime => ({
  intervals: [{ fromAt: fromS * S, toAt: toS * S }],
  notBeforeAt: toS * S + GRACE_MS,
});

test.each([
  ["two renewals of a lease by default", 50 * S, 20 * S],
  ["never less, however short the grace", 4 * S, 20 * S],
  ["more where the grace is longer", 200 * S, 80 * S],
])("the shortest outage is %s", (_what, nodeMonitorGraceMs, minMs) => {
  expect(outageMinMs({ nodeMonitorGraceMs })).toBe(minMs);
});

describe("a countdown of 300 s from 0 s on", () => {
  test.each([
    ["without an outage ends on time", {}, 300],
    ["stands still from 100 s to 700 s", { outages: over(100, 700) }, 900],
    ["waits for the grace if it was nearly over", { outages: over(290, 700) }, 750],
    ["is not moved by an outage that was long over", { outages: over(-700, -600) }, 300],
    ["adds a freeze beside it", { outages: over(100, 200), frozen: [{ fromAt: 220 * S, toAt: 320 * S }] }, 500],
    ["counts time once that is both", { outages: over(100, 200), frozen: [{ fromAt: 150 * S, toAt: 250 * S }] }, 450],
  ])("%s", (_what, paused, endS) => {
    expect(silenceCountdownEndAt(0, 300 * S, paused)).toBe(endS * S);
  });

  test("has no end while no node can be heard", () => {
    const outages = { intervals: [{ fromAt: 100 * S, toAt: null }], notBeforeAt: Number.POSITIVE_INFINITY };
    expect([silenceCountdownEndAt(0, 300 * S, { outages }), isInOutage(outages)]).toEqual([
      Number.POSITIVE_INFINITY,
      true,
    ]);
  });

  test("counts again from the end of an undated outage", () => {
    const outages = { intervals: [{ fromAt: UNKNOWN_START_AT, toAt: 700 * S }], notBeforeAt: 700 * S + GRACE_MS };
    expect(silenceCountdownEndAt(10 * S, 300 * S, { outages })).toBe(1000 * S);
  });
});

test("no countdown ends earlier by an outage, nor before its grace", () => {
  const instant = fc.integer({ min: 0, max: 10_000 });
  fc.assert(
    fc.property(instant, instant, instant, fc.nat(5000), (startAt, durationMs, fromAt, lengthMs) => {
      const outages = { intervals: [{ fromAt, toAt: fromAt + lengthMs }], notBeforeAt: fromAt + lengthMs + 50 };
      const endAt = silenceCountdownEndAt(startAt, durationMs, { outages });
      expect(endAt).toBeGreaterThanOrEqual(silenceCountdownEndAt(startAt, durationMs, { outages: NO_OUTAGES }));
      expect(endAt).toBeGreaterThanOrEqual(outages.notBeforeAt);
    }),
  );
});

test.each<[string, number[], FrozenInterval[]]>([
  ["all of it without a heartbeat", [], [{ fromAt: 0, toAt: 100 }]],
  ["nothing with one every 20", [20, 40, 60, 80], []],
  ["what is longer than 20", [20, 41, 60, 80], [{ fromAt: 20, toAt: 41 }]],
  ["in any order, and without those outside", [80, -5, 20, 160, 40], [{ fromAt: 40, toAt: 80 }]],
])("of a time from 0 to 100 an outage is %s", (_what, heardAts, outages) => {
  expect(outagesBetween(heardAts, { fromAt: 0, toAt: 100, minMs: 20 })).toEqual(outages);
});

test("an outage that touches one that lasts is over all the same", () => {
  expect(outagesOver([{ fromAt: 134, toAt: null }], 180)).toEqual([{ fromAt: 134, toAt: 180 }]);
  const apart = [
    { fromAt: 20, toAt: 50 },
    { fromAt: 180, toAt: null },
  ];
  expect(outagesOver(apart, 180)).toEqual([{ fromAt: 20, toAt: 50 }]);
});
