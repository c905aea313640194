/** What counts against the rates of a policy, and until when, on both sides of each boundary. */
import { describe, expect, test } from "vitest";
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
      window.evicted("p", 4 * S);
      expect(countsAt(window, atMs)).toBe(counts);
    }
  });

  test("not, when its attempt has not evicted", () => {
    const window = new EvictionWindow();
    grant(window, "p", 0);
    window.release("p");
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
    window.evicted("p", 1 * S);
    grant(window, "p", 3 * S);
    window.release("p");
    expect(countsAt(window, WINDOW_MS)).toBe(true);
    expect(countsAt(window, 1 * S + WINDOW_MS)).toBe(false);
  });

  test("once, however often its outcome is reported", () => {
    const window = new EvictionWindow();
    grant(window, "p", 0);
    window.evicted("p", 0);
    window.evicted("p", 1 * S);
    window.release("p");
    expect(window.size).toBe(1);
  });
});

test("a permit ends with its outcome, or after its last possible use", () => {
  const window = new EvictionWindow();
  grant(window, "p", 0);
  grant(window, "q", 0);
  window.evicted("q", 0);
  expect(window.permits()).toEqual([{ uid: "p", grantedAt: T }]);
  window.update(PERMIT_ENDS_MS - 1);
  expect(window.hasPermit("p")).toBe(true);
  window.update(PERMIT_ENDS_MS);
  expect(window.hasPermit("p")).toBe(false);
  expect(PERMIT_VALID_MS).toBeLessThan(PERMIT_ENDS_MS);
});
