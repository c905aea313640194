/** When a change is requested: at once when it is new, then with growing backoff, not once the API shows it. */
import { expect, test } from "vitest";
import { RequestSchedule } from "../../services/node/request-schedule.ts";
import { observedPod } from "../support/observed-objects.ts";

const PROFILE = { askRetryMs: 2_000, askRetryMaxMs: 10_000 };

test("an end state is requested at once, then with pauses that double to a maximum", () => {
  const requests = new RequestSchedule(PROFILE);
  const requestedMs: number[] = [];
  for (let nowMs = 0; nowMs <= 40_000; nowMs += 500) if (requests.isDue("taint", "x", nowMs)) requestedMs.push(nowMs);
  expect(requestedMs).toEqual([0, 2_000, 4_000, 8_000, 16_000, 26_000, 36_000]);
});

test("a change is not requested a millisecond before its pause is over", () => {
  const requests = new RequestSchedule(PROFILE);
  requests.isDue("taint", "x", 0);
  expect(requests.isDue("taint", "x", 1_999)).toBe(false);
  expect(requests.isDue("taint", "x", 2_000)).toBe(true);
});

test("another end state is due at once and starts its own backoff", () => {
  const requests = new RequestSchedule(PROFILE);
  requests.isDue("taint", "x", 0);
  expect(requests.isDue("taint", "y", 100)).toBe(true);
  expect(requests.nextDueMs()).toBe(2_100);
});

test("a change that is no longer desired is dropped, and is new when it comes back", () => {
  const requests = new RequestSchedule(PROFILE);
  requests.isDue("taint", "x", 0);
  expect(requests.isDue("taint", null, 100)).toBe(false);
  expect(requests.nextDueMs()).toBeNull();
  expect(requests.isDue("taint", "x", 200)).toBe(true);
});

test("a new pod is requested at once, and all that are left when the pause is over", () => {
  const requests = new RequestSchedule(PROFILE);
  const [one, two, three] = [observedPod("one"), observedPod("two"), observedPod("three")];
  expect(requests.podsDue("unready", [one, two], 0)).toEqual([one, two]);
  expect(requests.podsDue("unready", [one, two, three], 500)).toEqual([three]);
  expect(requests.podsDue("unready", [two, three], 1_999)).toEqual([]);
  expect(requests.podsDue("unready", [two, three], 2_000)).toEqual([two, three]);
  expect(requests.podsDue("unready", [], 2_100)).toEqual([]);
  expect(requests.nextDueMs()).toBeNull();
});

test("a pod that comes late does not wait out the long pause of those before it", () => {
  const requests = new RequestSchedule(PROFILE);
  const [one, two] = [observedPod("one"), observedPod("two")];
  for (const nowMs of [0, 2_000, 6_000]) requests.podsDue("unready", [one], nowMs);
  requests.podsDue("unready", [one, two], 6_100);
  expect(requests.nextDueMs()).toBe(8_100);
});

test("the first eviction of a pod is known as long as it has to go", () => {
  const requests = new RequestSchedule(PROFILE);
  const [a, b] = [observedPod("a"), observedPod("b")];
  expect([requests.firstEvictionMs(a.uid, 0), requests.firstEvictionMs(b.uid, 1_000)]).toEqual([0, 1_000]);
  expect(requests.podsDue("eviction", [], 1_500)).toEqual([]);
  requests.keepFirstEvictions([b]);
  expect(requests.isEmpty()).toBe(false);
  expect([requests.firstEvictionMs(a.uid, 2_000), requests.firstEvictionMs(b.uid, 2_000)]).toEqual([2_000, 1_000]);
  requests.keepFirstEvictions([]);
  expect(requests.isEmpty()).toBe(true);
});

test("a request can be brought forward, and no other one", () => {
  const requests = new RequestSchedule(PROFILE);
  requests.bringForward("eviction", 500);
  expect(requests.nextDueMs()).toBeNull();
  requests.podsDue("eviction", [observedPod("a")], 0);
  requests.bringForward("eviction", 3_000);
  expect(requests.nextDueMs()).toBe(2_000);
  requests.bringForward("eviction", 500);
  expect(requests.nextDueMs()).toBe(500);
});
