/** The sync state of a watch after a loss, on both sides of the boundary. */
import { expect, test } from "vitest";
import { NEVER_SYNCED, syncLost, syncRegained } from "../../../services/platform/kube/watch/watch-reader.policy.ts";

const BLIND_MS = 10_000;
const SEEN = syncRegained(NEVER_SYNCED, 1_000, BLIND_MS);

test("a watch is synced from its first list on", () => {
  expect(SEEN).toEqual({ synced: true, sinceMs: 1_000, lostAtMs: null });
});

test.each([
  ["as long as may be, it goes on where it was", 60_000, 1_000],
  ["a moment longer, it starts again", 60_001, 60_001],
])("lost for %s", (_what, regainedMs, sinceMs) => {
  const lost = syncLost(SEEN, 50_000);
  expect(lost).toEqual({ synced: false, sinceMs: 1_000, lostAtMs: 50_000 });
  expect(syncRegained(lost, regainedMs, BLIND_MS)).toEqual({ synced: true, sinceMs, lostAtMs: null });
});

test("a second loss before the first has ended keeps the time of the first", () => {
  for (const [first, second] of [
    [50_000, 55_000],
    [55_000, 50_000],
  ] as const) {
    expect(syncLost(syncLost(SEEN, first), second).lostAtMs).toBe(50_000);
  }
});

test("a loss before the first list changes nothing", () => {
  const lost = syncLost(NEVER_SYNCED, 500);
  expect(lost).toEqual(NEVER_SYNCED);
  expect(syncRegained(lost, 2_000, BLIND_MS).sinceMs).toBe(2_000);
});
