/** What an owner of the rates hands over: durations that hold on any clock, and nothing malformed or too long. */
import { expect, test } from "vitest";
import { STANDARD_BOUNDS } from "../../../protocols/profile.ts";
import { type HandedOverRate, handedOver, handoverText } from "../../../services/pod-writer/rates/handover.ts";

const RATE: HandedOverRate = {
  policy: "gpu",
  countedMs: 1_000,
  counted: [{ namespace: "shop", untilMs: 61_000 }],
  waiting: [{ uid: "u-1", namespace: "shop", node: "a-0", policy: "gpu", deadlineAt: 5, rankAt: 7 }],
};

test("is what it was, on a clock that shows another time", () => {
  const [rate] = handedOver(handoverText([RATE], STANDARD_BOUNDS, 2_000), 502_000);
  expect(rate).toEqual({ ...RATE, countedMs: 501_000, counted: [{ namespace: "shop", untilMs: 561_000 }] });
});

test.each([
  "",
  "not JSON",
  "{}",
  '[{"policy":"gpu","counted":[],"waiting":[]}]',
  '[{"policy":"gpu","countedForMs":90000}]',
  '[{"policy":"gpu","countedForMs":90000,"counted":[["shop","soon"]]}]',
  '[{"policy":"gpu","countedForMs":null,"counted":[]}]',
  '[{"policy":"gpu","countedForMs":-1,"counted":[]}]',
  '[{"policy":"gpu","countedForMs":90000,"counted":[["shop",90002]]}]',
])("is nothing where its text is %j", (text) => {
  expect(handedOver(text, 0)).toEqual([]);
});

test.each([
  ["deadline", ["u-1", "shop", "a-0", 1e18, 7]],
  ["place", ["u-1", "shop", "a-0", 5, -1e18]],
  ["uid", ["u".repeat(254), "shop", "a-0", 5, 7]],
  ["node", ["u-1", "shop", "a".repeat(254), 5, 7]],
])("leaves out a waiting pod whose %s no message could name", (_, pod) => {
  const text = JSON.stringify([{ policy: "gpu", countedForMs: 0, counted: [["shop", 90_001]], waiting: [pod] }]);
  expect(handedOver(text, 0)).toEqual([
    { policy: "gpu", countedMs: 0, counted: [{ namespace: "shop", untilMs: 90_001 }], waiting: [] },
  ]);
});

test("leaves out the pods that wait where it would be too long, and then all", () => {
  const [pod] = RATE.waiting;
  if (pod === undefined) throw new Error("one waits");
  const policies = Array.from({ length: 20 }, (_, index) => ({
    ...RATE,
    policy: `pool-${index}`,
    waiting: Array.from({ length: 500 }, () => ({ ...pod, uid: "u".repeat(36) })),
  }));
  expect(handedOver(handoverText(policies, STANDARD_BOUNDS, 2_000), 0).map(({ waiting }) => waiting.length)).toEqual(
    Array(20).fill(0),
  );
  const counted = Array.from({ length: 20_000 }, () => ({ namespace: "shop", untilMs: 61_000 }));
  expect(handoverText([{ ...RATE, counted }], STANDARD_BOUNDS, 2_000)).toBe("");
});
