/** The limits of a policy at their boundaries. */
import { expect, test } from "vitest";
import { nodesAllowed } from "../../../services/zone/limits/budget.policy.ts";
import {
  blockOf,
  breakerNodesMax,
  isOpen,
  type LimitCounts,
  type LimitMemory,
  type Limits,
  NO_MEMORY,
  remembered,
  trips,
} from "../../../services/zone/limits/limits.policy.ts";

const MINUTE = 60_000;
const WALL = Date.UTC(2026, 0, 5, 12);
const NOW = 5_000_000;
const AT = { nowMs: NOW, wallMs: WALL };

const limits = (set: Partial<Limits>): Limits => ({
  maxUnhealthy: null,
  circuitBreaker: null,
  stormCooldownMs: null,
  secondaryPerSecond: 0.01,
  budgets: [],
  ceiling: null,
  ...set,
});
const counts = (set: Partial<LimitCounts>): LimitCounts => ({
  selected: 20,
  unhealthy: 0,
  admitted: 0,
  permitted: 0,
  inWindow: 0,
  windowMovesMs: null,
  ...set,
});
const breaker = {
  percentage: 10,
  nodesMax: 5,
  durationMs: 10 * MINUTE,
  resetAfterMs: 30 * MINUTE,
  holdsReadiness: false,
};

interface State {
  readonly counts?: Partial<LimitCounts>;
  readonly memory?: Partial<LimitMemory>;
  readonly allowed?: number;
  readonly zoneAdmittedMs?: number | null;
}

function held(set: Partial<Limits>, state: State = {}, nowMs = NOW) {
  return blockOf(
    limits(set),
    {
      counts: counts(state.counts ?? {}),
      memory: { ...NO_MEMORY, ...state.memory },
      allowance: { nodes: state.allowed ?? Number.POSITIVE_INFINITY, untilAt: null },
      zoneAdmittedMs: state.zoneAdmittedMs ?? null,
    },
    { nowMs, wallMs: WALL + (nowMs - NOW) },
  );
}

test.each([
  [{ percentage: 40 }, 6, "down", 2],
  [{ percentage: 40 }, 25, "down", 10],
  [{ percentage: 20 }, 4, "down", 0],
  [{ percentage: 29 }, 100, "down", 29],
  [{ percentage: 10 }, 19, "up", 2],
  [{ percentage: 10 }, 20, "up", 2],
  [{ percentage: 10 }, 21, "up", 3],
  [{ percentage: 0 }, 100, "up", 0],
  [{ percentage: 10 }, 0, "up", 0],
  [{ nodes: 3 }, 2, "up", 3],
] as const)("%o of %i nodes, rounded %s, are %i", (count, selected, rounding, nodes) => {
  expect(nodesAllowed(count, selected, rounding)).toBe(nodes);
});

test.each([
  [4, null],
  [5, "maxUnhealthy"],
])("20%% of 20 with %i unhealthy: %s", (unhealthy, field) => {
  expect(held({ maxUnhealthy: { percentage: 20 } }, { counts: { unhealthy } })?.field ?? null).toBe(field);
});

test("the reason gives the numbers behind maxUnhealthy", () => {
  const hold = held({ maxUnhealthy: { percentage: 20 } }, { counts: { unhealthy: 7 } });
  expect(hold?.detail).toBe("7 of 20 nodes are unhealthy, at most 4 may be");
});

test.each([
  [1, 0, 2, null],
  [1, 1, 2, "budgets"],
  [2, 0, 2, "budgets"],
  [0, 0, 0, "budgets"],
])("%i admitted and %i permitted of a budget of %i: %s", (admitted, permitted, allowed, field) => {
  expect(held({}, { counts: { admitted, permitted }, allowed })?.field ?? null).toBe(field);
});

test.each([
  [1, 0, 1, null],
  [2, 0, 0, "2 nodes carry NoExecute taints of policies, at most 2 of 20 may"],
  [1, 1, 1, "1 nodes carry NoExecute taints of policies and 1 may be at any moment, at most 2 of 20 may"],
  [0, 1, 1, "1 nodes got NoExecute taints of policies within 600 s and 1 may be at any moment, at most 2 of 20 may"],
  [0, 0, 2, "2 nodes got NoExecute taints of policies within 600 s, at most 2 of 20 may"],
])("%i tainted, %i permitted and %i in the window of a ceiling of 2: %s", (admitted, permitted, inWindow, detail) => {
  const ceiling = { nodesMax: 5, percentage: 10, durationMs: 10 * MINUTE };
  expect(held({ ceiling }, { counts: { admitted, permitted, inWindow } })?.detail ?? null).toBe(detail);
});

test.each([
  [10, 5, 20, 2],
  [10, 5, 100, 5],
  [null, 5, 7, 5],
  [10, null, 7, 1],
  [1, null, 100, 1],
])("a breaker of %s %% and %s nodes lets %i selected nodes have %i", (percentage, nodesMax, selected, nodes) => {
  expect(breakerNodesMax({ ...breaker, percentage, nodesMax }, selected)).toBe(nodes);
});

test.each([
  [1, 0, null, false],
  [1, 1, "circuitBreaker", false],
  [2, 0, "circuitBreaker", true],
])("with %i admitted and %i permitted of 2 in the window: %s, trips %s", (inWindow, permitted, field, isTrip) => {
  const load = { inWindow, permitted };
  expect(held({ circuitBreaker: breaker }, { counts: load })?.field ?? null).toBe(field);
  expect(trips(limits({ circuitBreaker: breaker }), counts(load))).toBe(isTrip);
});

test.each([
  [30 * MINUTE - 1, true],
  [30 * MINUTE, false],
])("a breaker that tripped %i ms ago and resets after 30 min is open: %s", (agoMs, open) => {
  expect(isOpen(breaker, NOW - agoMs, NOW)).toBe(open);
  expect(held({ circuitBreaker: breaker }, { memory: { trippedMs: NOW - agoMs } })?.field).toBe(
    open ? "circuitBreaker" : undefined,
  );
});

test("a breaker without resetAfter stays open", () => {
  const forever = { ...breaker, resetAfterMs: null };
  expect(isOpen(forever, 0, 1e12)).toBe(true);
  expect(held({ circuitBreaker: forever }, { memory: { trippedMs: 0 } })?.untilAt).toBeNull();
});

test("an open breaker says when it tripped and when it resets", () => {
  expect(held({ circuitBreaker: breaker }, { memory: { trippedMs: NOW - 10 * MINUTE } })).toEqual({
    field: "circuitBreaker",
    untilAt: WALL + 20 * MINUTE,
    detail: "the breaker is open since 2026-01-05T11:50:00Z",
  });
});

test.each([
  ["during the storm", { isStorm: true }, null, "stormCooldownDuration"],
  ["as the storm ends", { stormEndedMs: NOW }, null, "stormCooldownDuration"],
  ["just before the cooldown ends", { stormEndedMs: NOW - 10 * MINUTE + 1 }, null, "stormCooldownDuration"],
  ["when it has ended", { stormEndedMs: NOW - 10 * MINUTE }, null, null],
  ["99 s after another node of the zone", { stormEndedMs: NOW - 11 * MINUTE }, NOW - 99_000, "stormCooldownDuration"],
  ["100 s after it", { stormEndedMs: NOW - 11 * MINUTE }, NOW - 100_000, null],
  ["after two cooldowns", { stormEndedMs: NOW - 20 * MINUTE }, NOW, null],
  ["without any storm", {}, NOW, null],
] as const)("a cooldown of 10 min, %s", (_when, memory, zoneAdmittedMs, field) => {
  const hold = held({ stormCooldownMs: 10 * MINUTE }, { memory, zoneAdmittedMs });
  expect(hold?.field ?? null).toBe(field);
});

test("at a secondary rate of 0 no node is admitted until the second cooldown ends", () => {
  const set = { stormCooldownMs: 10 * MINUTE, secondaryPerSecond: 0 };
  const hold = held(set, { memory: { stormEndedMs: NOW - 15 * MINUTE } });
  expect(hold?.untilAt).toBe(WALL + 5 * MINUTE);
});

test("a storm lasts while too many nodes are unhealthy, and its end is remembered", () => {
  const set = limits({ maxUnhealthy: { nodes: 1 }, stormCooldownMs: MINUTE });
  const step = (before: LimitMemory, unhealthy: number, nowMs: number) =>
    remembered(before, { limits: set, counts: counts({ unhealthy }), isHalted: false }, nowMs);
  const during = step(NO_MEMORY, 2, NOW);
  expect(during).toEqual({ trippedMs: null, isStorm: true, stormEndedMs: null });
  const after = step(during, 1, NOW + 500);
  expect(after).toEqual({ trippedMs: null, isStorm: false, stormEndedMs: NOW + 500 });
  expect(step(after, 1, NOW + 5000)).toBe(after);
});

test("a halted zone is a storm", () => {
  const memory = remembered(NO_MEMORY, { limits: limits({}), counts: counts({}), isHalted: true }, NOW);
  expect(memory.isStorm).toBe(true);
});

test("a breaker that reset while nobody watched ended its storm then", () => {
  const before = { trippedMs: NOW - 40 * MINUTE, isStorm: true, stormEndedMs: null };
  const set = { limits: limits({ circuitBreaker: breaker }), counts: counts({}), isHalted: false };
  expect(remembered(before, set, NOW)).toEqual({
    trippedMs: null,
    isStorm: false,
    stormEndedMs: NOW - 10 * MINUTE,
  });
});

test("a breaker that is taken away is closed at once", () => {
  const before = { trippedMs: NOW - MINUTE, isStorm: true, stormEndedMs: null };
  const set = { limits: limits({}), counts: counts({}), isHalted: false };
  expect(remembered(before, set, AT.nowMs).trippedMs).toBeNull();
});

test("an open breaker is named before the limits that follow from it", () => {
  const set = { circuitBreaker: breaker, maxUnhealthy: { nodes: 0 }, stormCooldownMs: MINUTE };
  const state = { counts: { unhealthy: 3 }, memory: { trippedMs: NOW, isStorm: true }, allowed: 0 };
  expect(held(set, state)?.field).toBe("circuitBreaker");
  expect(held({ ...set, circuitBreaker: null }, state)?.field).toBe("maxUnhealthy");
  expect(held({ stormCooldownMs: MINUTE }, state)?.field).toBe("stormCooldownDuration");
  expect(held({}, state)?.field).toBe("budgets");
});

test.each([
  [{ admitted: 1 }, "1 of 20 nodes are evicted, at most 1 may be at once"],
  [{ permitted: 1 }, "0 of 20 nodes are evicted and 1 may be at any moment, at most 1 may be at once"],
])("with %j a budget of 1 says: %s", (state, detail) => {
  expect(held({}, { counts: state, allowed: 1 })?.detail).toBe(detail);
});

test("a scheduled budget with nodes ends earlier for a node that recovers, and says so", () => {
  const state = { counts: counts({ admitted: 1 }), memory: NO_MEMORY, zoneAdmittedMs: null };
  const untilAt = AT.wallMs + MINUTE;
  const detailOf = (nodes: number) => blockOf(limits({}), { ...state, allowance: { nodes, untilAt } }, AT)?.detail;
  expect(detailOf(1)).toContain(", unless one of them recovers");
  expect(detailOf(0)).not.toContain("recovers");
});

test.each([
  [{ inWindow: 2 }, "2 nodes were admitted for eviction within 600 s"],
  [{ inWindow: 1, permitted: 1 }, "1 nodes were admitted for eviction within 600 s and 1 may be at any moment"],
])("with %j a breaker of 2 says: %s", (state, detail) => {
  expect(held({ circuitBreaker: breaker }, { counts: state })?.detail).toBe(detail);
});
