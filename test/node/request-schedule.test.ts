/** When a wish is asked again: at once when it is new, then ever more seldom, never when it is fulfilled. */
import { expect, test } from "vitest";
import { RequestSchedule } from "../../services/node/request-schedule.ts";
import { observedPod } from "../support/observed-objects.ts";

const PROFILE = { askRetryMs: 2_000, askRetryMaxMs: 10_000 };

test("an end state is asked for at once and again after pauses of which the first two are equal and the others double up to the longest", () => {
  const asks = new RequestSchedule(PROFILE);
  const asked: number[] = [];
  for (let nowMs = 0; nowMs <= 40_000; nowMs += 500) if (asks.isDue("taint", "x", nowMs)) asked.push(nowMs);
  expect(asked).toEqual([0, 2_000, 4_000, 8_000, 16_000, 26_000, 36_000]);
});

test("a millisecond before its pause is over nothing is asked", () => {
  const asks = new RequestSchedule(PROFILE);
  asks.isDue("taint", "x", 0);
  expect(asks.isDue("taint", "x", 1_999)).toBe(false);
  expect(asks.isDue("taint", "x", 2_000)).toBe(true);
});

test("another end state is due at once and starts its own pauses", () => {
  const asks = new RequestSchedule(PROFILE);
  asks.isDue("taint", "x", 0);
  expect(asks.isDue("taint", "y", 100)).toBe(true);
  expect(asks.nextDueMs()).toBe(2_100);
});

test("a fulfilled wish is forgotten, and what comes back is new", () => {
  const asks = new RequestSchedule(PROFILE);
  asks.isDue("taint", "x", 0);
  expect(asks.isDue("taint", null, 100)).toBe(false);
  expect(asks.nextDueMs()).toBeNull();
  expect(asks.isDue("taint", "x", 200)).toBe(true);
});

test("a postponed ask waits for the longest pause", () => {
  const asks = new RequestSchedule(PROFILE);
  asks.isDue("label", "x", 0);
  asks.postpone("label", 100);
  asks.postpone("taint", 100);
  expect(asks.isDue("label", "x", 10_099)).toBe(false);
  expect(asks.isDue("label", "x", 10_100)).toBe(true);
});

test("pods are asked for together, a new one at once, and all that are left when the pause is over", () => {
  const asks = new RequestSchedule(PROFILE);
  const [one, two, three] = [observedPod("one"), observedPod("two"), observedPod("three")];
  expect(asks.podsDue("unready", [one, two], 0)).toEqual([one, two]);
  expect(asks.podsDue("unready", [one, two, three], 500)).toEqual([three]);
  expect(asks.podsDue("unready", [two, three], 1_999)).toEqual([]);
  expect(asks.podsDue("unready", [two, three], 2_000)).toEqual([two, three]);
  expect(asks.podsDue("unready", [], 2_100)).toEqual([]);
  expect(asks.nextDueMs()).toBeNull();
});

test("a pod that comes late does not wait out the long pause of those before it", () => {
  const asks = new RequestSchedule(PROFILE);
  const [one, two] = [observedPod("one"), observedPod("two")];
  for (const nowMs of [0, 2_000, 6_000]) asks.podsDue("unready", [one], nowMs);
  asks.podsDue("unready", [one, two], 6_100);
  expect(asks.nextDueMs()).toBe(8_100);
});
