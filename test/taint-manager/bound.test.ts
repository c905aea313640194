/** When a pod was bound, relative to the taints of its node. */
import { describe, expect, test } from "vitest";
import { bindingAt } from "../../services/domain/toleration.ts";
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

const NOW = 1_000_000;
const pod = (boundAt: number, createdAt = 0) => ({ boundAt, createdAt });

test.each([
  ["by its stamp", pod(NOW), null, NOW],
  ["by its creation, if the stamp is in the future", pod(NOW + 1, NOW - 7), null, NOW - 7],
  ["by its creation, if the stamp is older", pod(NOW - 9, NOW - 7), null, NOW - 7],
  ["by nothing, if both are in the future", pod(NOW + 9, NOW + 1), null, Number.NEGATIVE_INFINITY],
  ["by its stamp, if the creation is in the future", pod(NOW - 9, NOW + 1), null, NOW - 9],
  ["by an earlier sight, if the stamp is in the future", pod(NOW + 1), NOW - 5, NOW - 5],
  ["by an earlier sight, though the stamp has passed", pod(NOW), NOW - 5, NOW - 5],
  ["by its stamp, if the sight is later", pod(NOW - 9), NOW - 5, NOW - 9],
  ["by its stamp, if the sight is older than the pod", pod(NOW - 9, NOW - 10), NOW - 11, NOW - 9],
  ["by a sight, if the creation is in the future", pod(NOW + 9, NOW + 1), NOW - 5, NOW - 5],
])("a pod is bound %s", (_what, stamped, seenAt, boundAt) => {
  expect(bindingAt(stamped, { seenAt, nowAt: NOW })).toBe(boundAt);
});
