/** The checks' own reading of policies, with both sides of each boundary. */
import { describe, expect, test } from "vitest";
import { CronSchedule } from "../../../services/domain/cron-schedule.ts";
import { sealed } from "../sealed.ts";
import { heldUntil } from "./hold-checks.ts";
import { breakerMost, budgetMost, EACH_MINUTE, policyStateOf } from "./policy-state.ts";
import { POOL_LABEL } from "./pools.ts";

const selector = { matchLabels: { [POOL_LABEL]: "a" } };
const stateOf = (fields: object) => policyStateOf({ selector, ...fields }, []);

describe("a policy", () => {
  test("without a pool is none", () => {
    expect(policyStateOf({ selector: { matchLabels: {} } }, [])).toBeNull();
  });

  test.each([
    ["a wrong count", { maxUnhealthy: "most" }],
    ["a breaker without a limit", { circuitBreaker: { duration: "60s", resetAfter: "15s" } }],
    ["a budget without a number of nodes", { budgets: [{ nodes: "most" }] }],
    ["a negative rate", { nodeEvictionRate: -1 }],
  ])("with %s is as without it", (_what, fields) => {
    expect(stateOf(fields)).toEqual(stateOf({}));
  });
});

test.each([
  ["never runs", "0 0 31 2 *", "1h"],
  ["begins again before it is over", EACH_MINUTE, "90s"],
  ["begins again as it is over", EACH_MINUTE, "60s"],
])("a budget whose schedule %s always holds", (_what, schedule, duration) => {
  expect(stateOf({ budgets: [{ nodes: 0, schedule, duration }] })?.budgets).toEqual([{ nodes: 0, eachMinuteMs: null }]);
});

test.each([
  [{ maxNodes: 2 }, 2],
  [{ percentage: 20 }, 2],
  [{ percentage: 40, maxNodes: 3 }, 3],
])("a breaker with %j lets %i of 6 nodes go", (limits, most) => {
  const { breaker } = stateOf({ circuitBreaker: { ...limits, duration: "20s", resetAfter: "15s" } }) ?? {};
  expect(breaker == null ? null : breakerMost(breaker, 6)).toBe(most);
});

test.each([
  [[{ nodes: 2 }, { nodes: "30%" }], 0, 2],
  [[{ nodes: 2 }, { nodes: 1 }], 0, 1],
  [[{ nodes: 0, schedule: EACH_MINUTE, duration: "25s" }], 60, 0],
  [[{ nodes: 0, schedule: EACH_MINUTE, duration: "25s" }], 84, 0],
  [[{ nodes: 0, schedule: EACH_MINUTE, duration: "25s" }], 85, Infinity],
])("budgets %j allow at second %i at most %d of 5 nodes", (budgets, second, most) => {
  const state = stateOf({ budgets });
  expect(state === null ? null : budgetMost(state, 5, second * 1000, second * 1000)).toBe(most);
});

test.each([
  ["too few", [0], null],
  ["enough within the window", [0, 59], 79],
  ["enough, but too far apart", [0, 60], null],
  ["more that come later", [0, 10, 100], 30],
])("a node with transitions that are %s", (_what, transitions, until) => {
  expect(heldUntil(transitions, { transitions: 2, windowMs: 60, holdDownMs: 20 })).toBe(until);
});

test("a schedule can be read in a sealed run", () => {
  const from = Date.UTC(2026, 0, 1);
  expect(sealed(() => new CronSchedule("0 9 * * *", null).nextAfter(from))).toBe(from + 9 * 3_600_000);
});
