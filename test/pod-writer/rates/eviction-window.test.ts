/** What counts against the rates of a policy, and until when, on both sides of each boundary. */
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../protocols/done.ts";
import {
  EvictionWindow,
  PERMIT_ENDS_MS,
  PERMIT_VALID_MS,
  WINDOW_MS,
} from "../../../services/pod-writer/rates/eviction-window.ts";

const S = 1000;
const T = 1_795_437_315_250;

function grant(window: EvictionWindow, uid: string, grantedMs: number): void {
  window.grant({ uid, namespace: "a" }, { grantedMs, grantedAt: T + grantedMs });
}

/** An attempt for a pod has ended, with the permit of that instant; null for none. */
function settle(window: EvictionWindow, uid: string, outcome: Outcome, grantedMs: number | null, nowMs: number): void {
  const grantedAt = grantedMs === null ? null : T + grantedMs;
  window.settle({ uid, namespace: "a", outcome, grantedAt }, nowMs);
}

/** Whether a pod counts at an instant. */
function countsAt(window: EvictionWindow, atMs: number): boolean {
  window.update(atMs);
  return window.size === 1;
}

describe("an eviction counts", () => {
  test("until a minute after it, not after its permit", () => {
    for (const [atMs, counts] of [
      [4 * S + WINDOW_MS - 1, true],
      [4 * S + WINDOW_MS, false],
    ] as const) {
      const window = new EvictionWindow();
      grant(window, "p", 0);
      settle(window, "p", "ok", 0, 4 * S);
      expect(countsAt(window, atMs)).toBe(counts);
    }
  });

  test("not, when its attempt has not evicted", () => {
    const window = new EvictionWindow();
    grant(window, "p", 0);
    settle(window, "p", "throttled", 0, 0);
    expect(countsAt(window, 1)).toBe(false);
  });

  test("from its last possible instant without an outcome", () => {
    const ends = PERMIT_ENDS_MS + WINDOW_MS;
    for (const [atMs, counts] of [
      [ends - 1, true],
      [ends, false],
    ] as const) {
      const window = new EvictionWindow();
      grant(window, "p", 0);
      expect(countsAt(window, atMs)).toBe(counts);
    }
  });

  test("on, when a second attempt finds the pod gone", () => {
    const window = new EvictionWindow();
    grant(window, "p", 0);
    settle(window, "p", "ok", 0, 1 * S);
    grant(window, "p", 3 * S);
    settle(window, "p", "gone", 3 * S, 4 * S);
    expect(countsAt(window, WINDOW_MS)).toBe(true);
    expect(countsAt(window, 1 * S + WINDOW_MS)).toBe(false);
  });

  test("once, however often its outcome is reported", () => {
    const window = new EvictionWindow();
    grant(window, "p", 0);
    settle(window, "p", "ok", 0, 0);
    settle(window, "p", "unknown", null, 1 * S);
    settle(window, "p", "refused", 0, 1 * S);
    expect(window.size).toBe(1);
  });

  test.each(["ok", "shadowed", "unknown"] as const)("where its permit has ended, once it is %s", (outcome) => {
    const window = new EvictionWindow();
    grant(window, "p", 0);
    settle(window, "p", "failed", 0, 0);
    settle(window, "p", outcome, 0, 2 * S);
    expect(countsAt(window, 2 * S + WINDOW_MS - 1)).toBe(true);
    expect(countsAt(window, 2 * S + WINDOW_MS)).toBe(false);
  });

  test("not, without a permit of the policy", () => {
    const window = new EvictionWindow();
    settle(window, "p", "ok", null, 0);
    expect(countsAt(window, 0)).toBe(false);
  });

  test.each(["conflict", "gone"] as const)(
    "as another writer's while that may use the permit, after a %s",
    (outcome) => {
      const window = new EvictionWindow();
      grant(window, "p", 0);
      settle(window, "p", outcome, 0, 1 * S);
      expect(window.hasPermit("p")).toBe(false);
      expect(countsAt(window, PERMIT_ENDS_MS - 1)).toBe(true);
      expect(countsAt(window, PERMIT_ENDS_MS)).toBe(false);
    },
  );
});

test("a permit ends with its outcome, or after its last possible use", () => {
  const window = new EvictionWindow();
  grant(window, "p", 0);
  grant(window, "q", 0);
  settle(window, "q", "ok", 0, 0);
  expect(window.permits()).toEqual([{ uid: "p", grantedAt: T }]);
  window.update(PERMIT_ENDS_MS - 1);
  expect(window.hasPermit("p")).toBe(true);
  window.update(PERMIT_ENDS_MS);
  expect(window.hasPermit("p")).toBe(false);
  expect(PERMIT_VALID_MS).toBeLessThan(PERMIT_ENDS_MS);
});

test.each(["throttled", "failed", "refused", "denied", "conflict", "gone"] as const)(
  "a permit stays open when an attempt that has not used it is %s",
  (outcome) => {
    for (const grantedMs of [null, 1, 2 * S]) {
      const window = new EvictionWindow();
      grant(window, "p", 0);
      settle(window, "p", outcome, grantedMs, 3 * S);
      expect(window.permits()).toEqual([{ uid: "p", grantedAt: T }]);
    }
  },
);
