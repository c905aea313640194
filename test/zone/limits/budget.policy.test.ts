/** Budgets and their schedules at their boundaries. */
import { Cron } from "croner";
import { expect, test, vi } from "vitest";
import type { Budget } from "../../../protocols/policy-set.ts";
import { allowanceOf, scheduledBudgets } from "../../../services/zone/limits/budget.policy.ts";

const HOUR = 3_600_000;
const always = (nodes: number): Budget => ({ nodes: { nodes }, window: null });
const during = (nodes: number, schedule: string, hours: number, timeZone: string | null = null): Budget => ({
  nodes: { nodes },
  window: { schedule, timeZone, durationMs: hours * HOUR },
});

function allowance(budgets: readonly Budget[], time: string, selected = 20) {
  const { nodes, untilAt } = allowanceOf(scheduledBudgets(budgets), selected, Date.parse(time));
  return [nodes, untilAt === null ? null : new Date(untilAt).toISOString().slice(0, 16)] as const;
}

const businessHours = during(0, "0 9 * * 1-5", 8);

test.each([
  ["2026-01-05T08:59:59.999Z", Number.POSITIVE_INFINITY, null],
  ["2026-01-05T09:00:00.000Z", 0, "2026-01-05T17:00"],
  ["2026-01-05T16:59:59.999Z", 0, "2026-01-05T17:00"],
  ["2026-01-05T17:00:00.000Z", Number.POSITIVE_INFINITY, null],
  ["2026-01-10T12:00:00.000Z", Number.POSITIVE_INFINITY, null],
])("business hours at %s allow %d, until %s", (time, nodes, until) => {
  expect(allowance([businessHours], time)).toEqual([nodes, until]);
});

test("a schedule counts in its time zone, also after the clocks change", () => {
  const berlin = during(0, "0 9 * * *", 1, "Europe/Berlin");
  expect(allowance([berlin], "2026-03-28T08:00:00Z")[0]).toBe(0);
  expect(allowance([berlin], "2026-03-29T08:00:00Z")[0]).toBe(Number.POSITIVE_INFINITY);
  expect(allowance([berlin], "2026-03-29T07:00:00Z")[0]).toBe(0);
});

test("the most restrictive budget in force counts", () => {
  const budgets = [always(3), during(1, "0 9 * * *", 8), during(2, "0 9 * * *", 8)];
  expect(allowance(budgets, "2026-01-05T10:00:00Z")).toEqual([1, "2026-01-05T17:00"]);
  expect(allowance(budgets, "2026-01-05T18:00:00Z")).toEqual([3, null]);
});

test("of two equal budgets the one that holds longer gives the end", () => {
  const budgets = [during(0, "0 9 * * *", 8), during(0, "0 9 * * *", 10)];
  expect(allowance(budgets, "2026-01-05T10:00:00Z")).toEqual([0, "2026-01-05T19:00"]);
  expect(allowance([...budgets, always(0)], "2026-01-05T10:00:00Z")).toEqual([0, null]);
});

test("runs that overlap extend a budget", () => {
  expect(allowance([during(0, "0 9,10 * * *", 2)], "2026-01-05T09:30:00Z")).toEqual([0, "2026-01-05T12:00"]);
  expect(allowance([during(0, "0 * * * *", 2)], "2026-01-05T09:30:00Z")).toEqual([0, null]);
});

test("runs that overlap are searched for once, not in each round", () => {
  const budgets = scheduledBudgets([during(0, "*/5 * * * *", 1, "Europe/Berlin"), during(1, "0 * * * *", 24)]);
  const searches = vi.spyOn(Cron.prototype, "nextRun");
  const rounds = (count: number): number => {
    searches.mockClear();
    for (let round = 0; round < count; round++) allowanceOf(budgets, 20, Date.UTC(2026, 0, 5, 10, 1) + round * 1000);
    return searches.mock.calls.length;
  };
  rounds(1);
  expect(rounds(100)).toBe(0);
  searches.mockRestore();
});

test("a budget that holds for a thousand years has no end", () => {
  const years = 1000 * 365 * 24;
  expect(allowance([during(1, "0 9 * * 1-5", years)], "2026-01-05T08:00:00Z")).toEqual([1, null]);
  expect(allowance([during(1, "0 9 * * *", years, "Europe/Berlin")], "2026-01-05T08:00:00Z")).toEqual([1, null]);
});

test("a percentage is rounded up", () => {
  const tenth: Budget = { nodes: { percentage: 10 }, window: null };
  expect(allowance([tenth], "2026-01-05T10:00:00Z", 19)[0]).toBe(2);
});

test("a budget whose schedule cannot be read always holds", () => {
  expect(allowance([during(5, "nonsense", 1)], "2026-01-05T10:00:00Z")).toEqual([5, null]);
  expect(allowance([during(5, "0 9 * * *", 1, "Europe/Belin")], "2026-01-05T20:00:00Z")).toEqual([5, null]);
});
