/** How a pod that is due waits for the eviction rate of a policy, by what its owner published. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Judged } from "../../../services/ledger/state/cluster-state.ts";
import { type PresentRates, waitingEviction } from "../../../services/ledger/state/waiting-evictions.policy.ts";

const NOW = Date.UTC(2026, 0, 1);
const S = 1000;
const FIELD = "evictions.maxPerMinute";

function asked(uid: string, policy: string | null = "gpu"): BodyOf<"asked.eviction"> {
  const target = {
    namespace: "shop",
    name: "cart",
    uid,
    node: "n1",
    mode: "taint",
    deadlineAt: NOW,
    taint: null,
  } as const;
  return policy === null ? target : { ...target, policy };
}

/** Pods p and q of three are published, r may be evicted. */
function recorded(
  publishedAt = NOW,
  expectedAt: number | null = NOW + 9 * S,
): ReadonlyMap<string, Judged<"judged.evictions">> {
  const queue = ["p", "q"].map((uid) => ({ uid, field: FIELD, expectedAt }));
  const permits = [{ uid: "r", grantedAt: NOW }];
  const judged = { policy: "gpu", inWindow: 3, waiting: 3, oldestDeadlineAt: NOW, permits, queue };
  return new Map([["gpu", { judged, publishedAt }]]);
}

/** The same, as published by an owner without the Lease. */
function unleased(holder: string | null): ReadonlyMap<string, Judged<"judged.evictions">> {
  const [[, { judged }] = [null, { judged: null }]] = [...recorded(NOW, null)];
  if (judged === null) throw new Error("one was recorded");
  return new Map([["gpu", { judged: { ...judged, lease: { holder } }, publishedAt: NOW }]]);
}

const RATES: PresentRates = { evictions: recorded(), rated: new Set(["gpu"]), now: NOW };
const GPU = { policy: "gpu", field: FIELD, waiting: 3, expectedAt: NOW + 9 * S };
const NEVER = { ...GPU, expectedAt: null };
const UNKNOWN = { policy: "gpu", field: null, place: null, waiting: 0, expectedAt: null };

describe("waitingEviction", () => {
  test.each([
    ["a pod of the queue has its place", "q", recorded(), { ...GPU, place: 2 }],
    ["another one is behind those that are published", "s", recorded(), { ...GPU, place: null, behind: 2 }],
    ["a permitted pod does not wait", "r", recorded(), null],
    ["a limit of 0 has no expected time", "p", recorded(NOW, null), { ...GPU, place: 1, expectedAt: null }],
    [
      "a pod waits for the Lease that nobody holds",
      "p",
      unleased(null),
      { ...NEVER, place: 1, lease: { holder: null } },
    ],
    ["so does one behind those", "s", unleased("m-1"), { ...NEVER, place: null, behind: 2, lease: { holder: "m-1" } }],
    ["what is just recent enough holds", "p", recorded(NOW - 15 * S + 1), { ...GPU, place: 1 }],
    ["without a recent owner nothing is known", "p", recorded(NOW - 15 * S), UNKNOWN],
    ["without an owner nothing is known", "p", new Map(), UNKNOWN],
  ] as const)("%s", (_, uid, evictions, expected) => {
    expect(
      waitingEviction({ judged: null, asked: asked(uid), order: "none", last: null }, { ...RATES, evictions }),
    ).toEqual(expected);
  });

  test("a pod behind them that was refused waits for its retry first", () => {
    for (const [retryAt, place] of [
      [NOW + 1, undefined],
      [NOW, null],
    ] as const) {
      const refused = { outcome: "throttled", detail: "a budget", at: NOW - S, retrying: true, retryAt } as const;
      const last = { ...refused, namespace: "shop", name: "cart", node: "n1" };
      expect(waitingEviction({ judged: null, asked: asked("s"), order: "none", last }, RATES)?.place).toBe(place);
    }
  });

  test("a pod without a rate does not wait, nor a deleted one", () => {
    expect(waitingEviction({ judged: null, asked: asked("p", null), order: "none", last: null }, RATES)).toBeNull();
    expect(waitingEviction({ judged: null, asked: null, order: "none", last: null }, RATES)).toBeNull();
    expect(waitingEviction({ judged: null, asked: asked("p"), order: "done", last: null }, RATES)).toBeNull();
  });

  test.each([
    ["q", { ...GPU, place: 2 }],
    ["s", null],
  ])("the queue says which policy pod %s without a request waits for", (uid, expected) => {
    const judged = { ...asked(uid), eviction: "due", tolerationSeconds: null } as const;
    expect(waitingEviction({ judged, asked: null, order: "none", last: null }, RATES)).toEqual(expected);
  });

  test("a policy that has lost its rate holds no pod back", () => {
    expect(
      waitingEviction({ judged: null, asked: asked("p"), order: "none", last: null }, { ...RATES, rated: new Set() }),
    ).toBeNull();
  });

  test("the request says which policy while none is known", () => {
    const unknown = waitingEviction(
      { judged: null, asked: asked("q"), order: "none", last: null },
      { ...RATES, rated: null },
    );
    expect(unknown).toEqual({ ...GPU, place: 2 });
  });
});
