/** When a pod was bound, relative to the taints of its node. */
import { describe, expect, test } from "vitest";
import { boundMsOf, knownTaints } from "../../services/taint-manager/taint-manager.policy.ts";
import { noExecute, observedNode } from "../support/observed-objects.ts";

const WALL = Date.UTC(2026, 0, 1);
/** A process that has just started, so taints may be older than it. */
const now = { monotonicMs: 5000, wallMs: WALL, absentMs: Number.NEGATIVE_INFINITY, isUnbroken: true };

describe("when a pod was bound", () => {
  const taint = noExecute("k", { timeAdded: "2025-12-31T23:59:50Z" });
  const known = knownTaints(observedNode("a", { taints: [taint] }), [], now);

  test.each([
    ["after the taint, at its distance from it", WALL - 3000, now, 2000],
    ["before the taint, by its distance from now", WALL - 60_000, now, -55_000],
    [
      "after the taint, though our clock was suspended since",
      WALL + 40_000,
      { monotonicMs: 6000, wallMs: WALL + 50_000 },
      6000,
    ],
    [
      "before the taint, though our wall clock was set back since",
      WALL - 60_000,
      { monotonicMs: 6000, wallMs: WALL - 90_000 },
      -5000,
    ],
  ])("%s", (_what, boundAt, seenAt, boundMs) => {
    expect(boundMsOf(boundAt, known, seenAt)).toBe(boundMs);
  });
});
