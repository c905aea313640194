/** Both sides of each boundary of the decision that a lease is contested. */
import { expect, test } from "vitest";
import {
  alternatingHolders,
  contestOf,
  holdersAfter,
  type LeaseHolders,
} from "../../services/observer/contested-lease.policy.ts";

const NODE = { node: "n-1", uid: "u-1" };
const WITHIN_MS = 300_000;

/** The holders after renewals by these, one every `stepMs`. */
function renewedBy(holders: string, stepMs: number): LeaseHolders {
  const [first = "", ...rest] = holders;
  return rest.reduce<LeaseHolders>((before, holder, index) => holdersAfter(before, holder, index * stepMs), {
    holder: first,
    other: null,
    changesMs: [],
  });
}

test.each([
  ["three changes within five minutes", "ABAB", WITHIN_MS / 2, 2, ["A", "B"]],
  ["three changes in a little more", "ABAB", WITHIN_MS / 2 + 1, 2, null],
  ["two changes", "ABA", 10_000, 1, null],
  ["one change and many renewals", "ABBBBBB", 10_000, 5, null],
  ["renewals between the changes", "AABBAABB", 10_000, 6, ["A", "B"]],
  ["many changes", "BABABABABABABA", 100_000, 12, ["A", "B"]],
  ["three holders in turn", "ABCABCABC", 10_000, 7, null],
  ["two changes after a third holder", "CABA", 10_000, 2, null],
  ["three changes after a third holder", "CABAB", 10_000, 3, ["A", "B"]],
])("%s", (_, holders, stepMs, steps, expected) => {
  expect(alternatingHolders(renewedBy(holders, stepMs), steps * stepMs)).toEqual(expected);
});

test("two holders are forgotten five minutes after their changes", () => {
  const holders = renewedBy("ABAB", 10_000);
  expect(alternatingHolders(holders, WITHIN_MS)).toEqual(["A", "B"]);
  expect(alternatingHolders(holders, WITHIN_MS + 1)).toBeNull();
});

test.each([
  ["its own node", "u-1", null, null],
  ["no owner", null, null, null],
  ["another node object", "u-0", null, { node: "n-1", ownerUid: "u-0" }],
  ["its own node and two holders", "u-1", ["A", "B"], { node: "n-1", holders: ["A", "B"] }],
  ["another and two holders", "u-0", ["A", "B"], { node: "n-1", ownerUid: "u-0", holders: ["A", "B"] }],
] as const)("a lease of %s", (_, ownerUid, holders, expected) => {
  expect(contestOf(NODE, ownerUid, holders === null ? null : [...holders])).toEqual(expected);
});
