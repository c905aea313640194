/** Which pods of a rated policy a preview knows no instant of, and how early it says they go. */
import { describe, expect, test } from "vitest";
import {
  contendedTimes,
  idleOf,
  type PodOutcome,
  type RatedKnowledge,
  unknownTimes,
} from "../../../services/cli/preview/eviction-times.policy.ts";

const S = 1000;
const KNOWN: RatedKnowledge = { isIdle: true, budgets: [] };

/** A pod that is due and deleted after these seconds. */
function pod(uid: string, dueS: number, deletedS: number | null, more: Partial<PodOutcome> = {}): PodOutcome {
  return { uid, requestedMs: dueS * S, goneMs: deletedS === null ? null : deletedS * S, ...more };
}

/** The pods without a known instant, each with its earliest second. */
function unknown(pods: readonly PodOutcome[], known: Partial<RatedKnowledge> = {}): Record<string, number> {
  const found = unknownTimes(pods, { ...KNOWN, ...known });
  return Object.fromEntries([...found].map(([uid, { earliestMs }]) => [uid, earliestMs / S]));
}

const WAITED = { waitedFor: "evictions.maxPerMinute of gpu" };

describe("evictions of the minute before", () => {
  const recent = { isIdle: false };

  test("may delay pods due within a minute, and others", () => {
    const pods = [pod("a", 59, 59), pod("b", 59, 119, WAITED), pod("c", 238, 240), pod("d", 421, 421)];
    expect(unknown(pods, recent)).toEqual({ a: 59, b: 119, c: 240 });
  });

  test.each([
    ["pods that are due later", [pod("a", 60, 60), pod("b", 61, 120, WAITED)], recent],
    ["pods where they are known", [pod("a", 5, 5), pod("b", 5, 65, WAITED)], {}],
    ["pods that a rate of none holds back", [pod("a", 5, null, WAITED)], recent],
  ])("delay no %s", (_what, pods, known) => {
    expect(unknown(pods, known)).toEqual({});
  });
});

describe("after a refusal", () => {
  test("due pods may go, or stay, once a pod has waited", () => {
    const pods = [
      pod("before", 5, 5),
      pod("refused", 6, null, { refusedMs: 6 * S }),
      pod("waits", 5, 65, WAITED),
      pod("later", 90, 125),
    ];
    expect(unknown(pods)).toEqual({ refused: 6, waits: 5, later: 90 });
  });

  test("instants are known while no pod waits", () => {
    expect(unknown([pod("refused", 5, 25, { refusedMs: 5 * S }), pod("other", 5, 5)])).toEqual({});
  });

  test("instants are known while a budget has refused none of its pods", () => {
    const budgets = [{ pods: new Set(["b"]) }];
    expect(unknown([pod("a", 5, 5), pod("b", 5, 65, WAITED)], { budgets })).toEqual({});
  });

  test.each([
    ["that is not known", { budgets: null }],
    ["that pods which are delayed may meet", { isIdle: false, budgets: [{ pods: new Set(["b"]) }] }],
  ])("%s, too", (_what, known) => {
    expect(unknown([pod("a", 5, 5), pod("b", 5, 65, WAITED)], known)).toEqual({ a: 5, b: 5 });
  });
});

test("a rate may hold back a pod whose countdown a preview does not follow", () => {
  const { requestedMs: _requestedMs, ...patient } = pod("patient", 90_000, 90_000);
  expect(unknown([patient, pod("a", 70, 70)])).toEqual({ patient: 90_000 });
});

test.each<[string, number, Record<string, number>]>([
  ["the pods that are due as their budget refuses another one contend", 6 * S, { gone: 5, refused: 6 }],
  ["a pod that is refused later contends with none", 7 * S, {}],
])("%s", (_what, refusedMs, contended) => {
  const pods = [{ uid: "gone", deletedMs: 5 * S }, { uid: "refused", refusedMs }, { uid: "stays" }];
  const found = [...contendedTimes(pods)].map(([uid, { earliestMs }]) => [uid, earliestMs / S]);
  expect(Object.fromEntries(found)).toEqual(contended);
});

test("pods of one budget that all go at one instant do not contend", () => {
  expect(contendedTimes(["a", "b"].map((uid) => ({ uid, deletedMs: 5 * S }))).size).toBe(0);
});

test("a policy is idle where a process reports that no eviction counts", () => {
  const reports = [
    { name: "idle", evictions: { lastMinute: 0, waiting: 0 } },
    { name: "busy", evictions: { lastMinute: 1, waiting: 0 } },
    { name: "unrated" },
  ];
  expect(idleOf(reports)).toEqual(new Set(["idle"]));
});
