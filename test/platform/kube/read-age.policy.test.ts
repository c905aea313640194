/** How old a read may be: a second, or a few times what the slowest kind of request takes. */
import { expect, test } from "vitest";
import { isTooOld, RecentLatencies } from "../../../services/platform/kube/write/read-age.policy.ts";

const GRACE_MS = 50_000;

/** Requests of one verb and kind, with their durations, that ended at one instant. */
function answered(known: RecentLatencies, request: string, latenciesMs: readonly number[], endedAtMs = 0): void {
  for (const latencyMs of latenciesMs) known.add(request, { latencyMs, endedAtMs });
}

const repeated = (count: number, latencyMs: number): number[] => Array.from({ length: count }, () => latencyMs);

test("the 99th percentile leaves out one mishap among a hundred requests, and no more", () => {
  const known = new RecentLatencies();
  expect(known.slowestP99Ms(0)).toBe(0);
  answered(known, "get Pod", [...repeated(99, 10), 5000]);
  expect(known.slowestP99Ms(0)).toBe(10);
  answered(known, "get Pod", [5000]);
  expect(known.slowestP99Ms(0)).toBe(5000);
});

test("one slow verb or kind counts, however many others are quick", () => {
  const known = new RecentLatencies();
  answered(known, "get Lease", repeated(1000, 10));
  answered(known, "patch Pod", [5000]);
  expect(known.slowestP99Ms(0)).toBe(5000);
});

test("what is a minute old, or a hundred requests of its kind ago, is forgotten", () => {
  const known = new RecentLatencies();
  answered(known, "get Pod", [5000]);
  expect([known.slowestP99Ms(60_000), known.slowestP99Ms(60_001)]).toEqual([5000, 0]);
  answered(known, "get Pod", repeated(100, 10));
  expect(known.slowestP99Ms(0)).toBe(10);
});

test.each([
  [0, 1000],
  [300, 1000],
  [400, 1200],
  [5000, 15_000],
  [20_000, GRACE_MS],
])("where requests take %i ms a read may be %i ms old", (latencyMs, ageMs) => {
  const known = new RecentLatencies();
  answered(known, "get Pod", [latencyMs]);
  expect(isTooOld(ageMs, ageMs, known, GRACE_MS)).toBe(false);
  expect(isTooOld(ageMs + 1, ageMs + 1, known, GRACE_MS)).toBe(true);
});
