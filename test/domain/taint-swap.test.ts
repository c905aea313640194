/** The record of a taint swap, and the taint that it belongs to. */
import { expect, test } from "vitest";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import {
  lineageOf as lineFrom,
  readTaintSwap,
  taintStartAt,
  taintSwapOf,
  taintSwapText,
  taintsSeenOn,
} from "../../services/domain/taint-swap.ts";
import { noExecute, observedNode } from "../support/observed-objects.ts";

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

test("a record survives a round trip", () => {
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

test("a record belongs to the taint with its stamp only", () => {
  const [notReady, unreachable] = [NOT_READY, UNREACHABLE].map((key) => ({ key, effect: "NoExecute" }));
  const line = { first: notReady, second: unreachable, since: SWAP.firstAt, secondSince: SWAP.secondAt };
  const lineOf = (taint: Taint, node: Pick<ObservedNode, "taintSwap" | "taintsSeenAt">) =>
    lineFrom(taint, taintStartAt(taint, node), node);
  expect(lineOf(noExecute(UNREACHABLE, STAMP), { taintSwap: SWAP })).toEqual(line);
  expect(lineOf(noExecute(NOT_READY, STAMP), { taintSwap: SWAP })).toEqual(line);
  expect(lineOf(noExecute(UNREACHABLE), { taintSwap: SWAP })).toBeNull();
  expect(lineOf(noExecute(UNREACHABLE, { timeAdded: "2026-01-01T00:00:01Z" }), { taintSwap: SWAP })).toBeNull();
  expect(lineOf(noExecute("maintenance", STAMP), { taintSwap: SWAP })).toBeNull();
  expect(lineOf({ ...noExecute(UNREACHABLE, STAMP), effect: "NoSchedule" }, { taintSwap: SWAP })).toBeNull();
  expect(lineOf(noExecute(UNREACHABLE, STAMP), {})).toBeNull();
});

test("a record still belongs to its taint after a new stamp, by its recorded start", () => {
  const again = noExecute(UNREACHABLE, { timeAdded: "2026-01-01T00:05:00Z" });
  const node = { taintSwap: SWAP, taintsSeenAt: { [`${UNREACHABLE}:NoExecute`]: SWAP.at } };
  expect(lineFrom(again, taintStartAt(again, node), node)).toMatchObject({ since: SWAP.firstAt });
  const other = { ...node, taintsSeenAt: { [`${UNREACHABLE}:NoExecute`]: SWAP.at + 1000 } };
  expect(lineFrom(again, taintStartAt(again, other), other)).toBeNull();
});

test("after one swap the second taint counts from its start, not from its stamp", () => {
  const taintSwap = { ...SWAP, secondAt: SWAP.at };
  const taint = noExecute(UNREACHABLE, STAMP);
  expect(lineFrom(taint, SWAP.at - 300_000, { taintSwap })).toMatchObject({ secondSince: SWAP.at - 300_000 });
});

test("a swap records when the replaced taint began; requests name only our two taints", () => {
  const startAt = SWAP.at - 300_000;
  const taintsSeenAt = { [`${NOT_READY}:NoExecute`]: startAt, "maintenance:NoExecute": 0 };
  const node = observedNode("a", { taints: [noExecute(NOT_READY, STAMP)], taintsSeenAt });
  const asked = taintsSeenOn(node);
  expect(asked.taintsSeenAt).toEqual({ [`${NOT_READY}:NoExecute`]: startAt });
  expect(taintSwapOf(noExecute(NOT_READY, STAMP), asked, SWAP.at + 60_000)).toMatchObject({ firstAt: startAt });
});
