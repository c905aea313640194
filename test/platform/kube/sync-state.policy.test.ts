/** How far what a watch told can be trusted after it was lost, with both sides of the boundary. */
import { expect, test } from "vitest";
import { NEVER_SYNCED, syncLost, syncRegained } from "../../../services/platform/kube/watch/sync-state.policy.ts";

const BLIND_MS = 10_000;
const SEEN = syncRegained(NEVER_SYNCED, 1_000, BLIND_MS);

test("sight begins with the first list", () => {
  expect(SEEN).toEqual({ synced: true, sinceMs: 1_000, lostAtMs: null });
});

test.each([
  ["as long as may be, it goes on where it was", 60_000, 1_000],
  ["a moment longer, it starts anew", 60_001, 60_001],
])("lost for %s", (_what, regainedMs, sinceMs) => {
  const lost = syncLost(SEEN, 50_000);
  expect(lost).toEqual({ synced: false, sinceMs: 1_000, lostAtMs: 50_000 });
  expect(syncRegained(lost, regainedMs, BLIND_MS)).toEqual({ synced: true, sinceMs, lostAtMs: null });
});

test("lost again before it was regained, it counts as lost from the first time", () => {
  for (const [first, second] of [
    [50_000, 55_000],
    [55_000, 50_000],
  ] as const) {
    expect(syncLost(syncLost(SEEN, first), second).lostAtMs).toBe(50_000);
  }
});

test("what was never seen cannot be lost: its sight begins with the first list all the same", () => {
  const lost = syncLost(NEVER_SYNCED, 500);
  expect(lost).toEqual(NEVER_SYNCED);
  expect(syncRegained(lost, 2_000, BLIND_MS).sinceMs).toBe(2_000);
});
