/** How long maintenance of policies has frozen a node in any case, with both sides of what is certain. */
import { expect, test } from "vitest";
import type { PolicySnapshot } from "./api-policies.ts";
import { endAfter } from "./frozen-time.ts";
import { leastMaintenanceTimes, type Status } from "./maintenance-time.ts";
import { policyStateOf } from "./policy-state.ts";
import { POOL_LABEL } from "./pools.ts";

const S = 1000;
const LAG_S = 4;
const COUNTDOWN_S = 30;

type AtMost = `${number}s`;

/** From a second on, policies with these `atMost` select the node; null is one without the field. */
function snapshot(fromS: number, ...atMosts: readonly (AtMost | null)[]): PolicySnapshot {
  const policies = atMosts.flatMap((atMost, index) => {
    const maintenance = atMost === null ? {} : { maintenance: { hold: ["DrainInProgress"], atMost } };
    const state = policyStateOf({ selector: { matchLabels: { [POOL_LABEL]: "a" } }, ...maintenance }, []);
    return state === null ? [] : [[`policy-${index}`, state] as const];
  });
  return { fromMs: fromS * S, policies: new Map(policies), everywhere: [] };
}

/** The condition is True in these times, in seconds; null is the present. */
function drains(...times: readonly (readonly [fromS: number, toS: number | null])[]): Status[] {
  return times.flatMap(([fromS, toS]) => [
    { status: "True", fromMs: fromS * S },
    ...(toS === null ? [] : [{ status: "False", fromMs: toS * S }]),
  ]);
}

test.each([
  ["no policy that holds", [snapshot(0, null)], drains([10, 20]), 30],
  ["no drain", [snapshot(0, "60s")], [], 30],
  ["a drain", [snapshot(0, "60s")], drains([10, 20]), 36],
  ["a drain in a conflict", [snapshot(0, null, "60s")], drains([10, 20]), 36],
  ["one that ended in a conflict", [snapshot(0, "60s"), snapshot(15, "60s", null)], drains([10, 20]), 36],
  ["one whose policies conflict no more", [snapshot(0, null, "60s"), snapshot(20, null)], drains([10, 40]), 36],
  ["one that may not have been seen", [snapshot(0, "60s")], drains([10, 14]), 30],
  ["one after its end", [snapshot(0, "60s")], drains([27, 60]), 30],
  ["one that still lasts", [snapshot(0, "60s")], drains([10, null]), 86],
  ["one that lasts longer than atMost", [snapshot(0, "20s")], drains([10, 100]), 46],
  ["the longest atMost of a conflict", [snapshot(0, "20s", "40s")], drains([10, 100]), 66],
  ["the shortest that a policy has said", [snapshot(0, "40s"), snapshot(15, "20s")], drains([10, 100]), 46],
  ["a policy that begins to hold", [snapshot(0, null), snapshot(20, "20s")], drains([10, 100]), 46],
  ["two drains", [snapshot(0, "20s")], drains([5, 15], [25, 35]), 42],
  ["two that may be one for Vigil", [snapshot(0, "20s")], drains([5, 20], [23, 60]), 41],
  ["a hold of one policy after another", [snapshot(0, "60s"), snapshot(20, null, "60s")], drains([10, 30]), 42],
])("a countdown of 30 s ends, at the earliest, after %s", (_what, snapshots, statuses, endS) => {
  const times = leastMaintenanceTimes({ statuses, snapshots, pool: "a" }, LAG_S * S);
  expect(endAfter(0, COUNTDOWN_S * S, times)).toBe(endS * S);
});

test("a policy of another pool holds nothing", () => {
  const held = leastMaintenanceTimes(
    { statuses: drains([10, 20]), snapshots: [snapshot(0, "60s")], pool: "b" },
    LAG_S * S,
  );
  expect(held).toEqual([]);
});
