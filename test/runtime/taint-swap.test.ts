/** What is written down about a taint that took its opposite's place, and which taint it tells of. */
import { expect, test } from "vitest";
import { lineOf, readTaintSwap, taintSwapText } from "../../services/runtime/taint-swap.ts";
import { noExecute } from "../support/observed-objects.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";
const SWAP = {
  at: Date.UTC(2026, 0, 1),
  firstKey: NOT_READY,
  firstAt: Date.UTC(2025, 11, 31),
  secondAt: Date.UTC(2025, 11, 31, 12),
};
const STAMP = { timeAdded: "2026-01-01T00:00:00Z" };
const PARTS = JSON.parse(taintSwapText(SWAP)) as Record<string, unknown>;

test("what is written is read again", () => {
  expect(readTaintSwap(taintSwapText(SWAP))).toEqual(SWAP);
});

test.each([
  ["no JSON", "yesterday"],
  ["another key", taintSwapText({ ...SWAP, firstKey: "maintenance" })],
  ["no instant of the swap", JSON.stringify({ ...PARTS, timeAdded: undefined })],
  ["an instant that is none", JSON.stringify({ ...PARTS, first: { key: NOT_READY, since: "yesterday" } })],
  ["no beginning", JSON.stringify({ ...PARTS, first: undefined })],
  ["no beginning of the second", JSON.stringify({ ...PARTS, second: {} })],
])("%s is as good as nothing", (_what, text) => {
  expect(readTaintSwap(text)).toBeNull();
});

test("it tells of the taint with its stamp, and of no other", () => {
  const [notReady, unreachable] = [NOT_READY, UNREACHABLE].map((key) => ({ key, effect: "NoExecute" }));
  const line = { first: notReady, second: unreachable, since: SWAP.firstAt, secondSince: SWAP.secondAt };
  expect(lineOf(noExecute(UNREACHABLE, STAMP), { taintSwap: SWAP })).toEqual(line);
  expect(lineOf(noExecute(NOT_READY, STAMP), { taintSwap: SWAP })).toEqual(line);
  expect(lineOf(noExecute(UNREACHABLE), { taintSwap: SWAP })).toBeNull();
  expect(lineOf(noExecute(UNREACHABLE, { timeAdded: "2026-01-01T00:00:01Z" }), { taintSwap: SWAP })).toBeNull();
  expect(lineOf(noExecute("maintenance", STAMP), { taintSwap: SWAP })).toBeNull();
  expect(lineOf({ ...noExecute(UNREACHABLE, STAMP), effect: "NoSchedule" }, { taintSwap: SWAP })).toBeNull();
  expect(lineOf(noExecute(UNREACHABLE, STAMP), {})).toBeNull();
});
