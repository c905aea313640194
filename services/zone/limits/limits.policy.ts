/**
 * Whether the limits of a policy let one more of its nodes be admitted for eviction: tainted NoExecute, or drained in
 * direct mode. Each limit is checked on its own, and reports name the first one that refuses:
 *
 *   circuitBreaker          open: no node, until it resets
 *   maxUnhealthy            no node while more of the selected nodes are unhealthy
 *   stormCooldownDuration   after a storm none, then one node at a time at the secondary rate
 *   budgets                 no node while so many are admitted at once
 *   circuitBreaker          closed, but the window is full: one more node trips it
 *
 * All policies together have one limit, the operator's ceiling: no node gets a NoExecute taint for its condition while
 * so many nodes carry one, or got one within the window.
 *
 * A breaker that protects readiness also trips once more nodes have gone down within the window: silence comes first,
 * and admissions for eviction follow slowly, at the rate of each zone.
 *
 * A storm is an open breaker, more unhealthy nodes than maxUnhealthy, or a halted zone. No limit blocks healing: limits
 * are checked before a node is admitted, and only then. Instants are on the monotonic clock unless they end in At.
 */

import type { CircuitBreaker, NodeCount } from "../../../protocols/policy-set.ts";
import { apiTime } from "../../domain/api-time.ts";
import type { Instant } from "../../domain/instant.ts";
import { CEILING_FLAG, type LEASE_BLOCK, type LimitField } from "../../domain/limited-policies.ts";
import { type Allowance, nodesAllowed, type ScheduledBudget } from "./budget.policy.ts";

/** The most nodes that all policies together may taint NoExecute for conditions. */
export interface Ceiling extends Pick<CircuitBreaker, "nodesMax" | "percentage" | "durationMs"> {}

/** The limits of one policy, of the whole cluster, or of all policies together. */
export interface Limits {
  readonly maxUnhealthy: NodeCount | null;
  readonly circuitBreaker: CircuitBreaker | null;
  readonly stormCooldownMs: number | null;
  /** The rate after a storm, in nodes per second and zone. */
  readonly secondaryPerSecond: number;
  readonly budgets: readonly ScheduledBudget[];
  /** Null but for all policies together. */
  readonly ceiling: Ceiling | null;
}

/** The window in which admissions count, in milliseconds; 0 without one. */
export function windowMsOf({ circuitBreaker, ceiling }: Pick<Limits, "circuitBreaker" | "ceiling">): number {
  return (circuitBreaker ?? ceiling)?.durationMs ?? 0;
}

/** How many of a policy's nodes are in which state. */
export interface LimitCounts {
  readonly selected: number;
  readonly unhealthy: number;
  /** Nodes that are admitted now. */
  readonly admitted: number;
  /** Nodes that may be admitted any moment, because a zone was permitted to. */
  readonly permitted: number;
  /** Different nodes that were admitted within the breaker's duration, healed or not. */
  readonly inWindow: number;
  /** When the earliest of them leaves the window; null for none. */
  readonly windowMovesMs: number | null;
}

/** What the limits remember of a policy. */
export interface LimitMemory {
  /** When the breaker tripped; null while it is closed. */
  readonly trippedMs: number | null;
  /** When the last storm ended; null before one has. */
  readonly stormEndedMs: number | null;
  readonly isStorm: boolean;
}

/** The memory of a policy that is new. */
export const NO_MEMORY: LimitMemory = { trippedMs: null, stormEndedMs: null, isStorm: false };

/** Why no further node is admitted. */
export interface LimitBlock {
  readonly field: LimitField | typeof CEILING_FLAG | typeof LEASE_BLOCK;
  /** When it ends by itself, in epoch milliseconds; null when it depends on nodes, or on a user. */
  readonly untilAt: number | null;
  /** The numbers behind it, as a sentence without its full stop. */
  readonly detail: string;
}

/** How many nodes may be admitted within the duration of a breaker or ceiling: the lower of its two limits. */
export function breakerNodesMax({ percentage, nodesMax }: Ceiling, selected: number): number {
  const share = percentage === null ? Number.POSITIVE_INFINITY : nodesAllowed({ percentage }, selected, "up");
  return Math.min(share, nodesMax ?? Number.POSITIVE_INFINITY);
}

/** Whether a breaker that has tripped is still open: for resetAfter, or for ever without it. */
export function isOpen(breaker: CircuitBreaker | null, trippedMs: number | null, nowMs: number): boolean {
  if (breaker === null || trippedMs === null) return false;
  return breaker.resetAfterMs === null || nowMs < trippedMs + breaker.resetAfterMs;
}

/** When a breaker that has tripped resets; null when it has not, or does not by itself. */
export function resetAtMs(breaker: CircuitBreaker | null, trippedMs: number | null): number | null {
  if (breaker === null || breaker.resetAfterMs === null || trippedMs === null) return null;
  return trippedMs + breaker.resetAfterMs;
}

/** Whether more nodes are unhealthy than maxUnhealthy allows. */
function isTooUnhealthy({ maxUnhealthy }: Limits, { selected, unhealthy }: LimitCounts): boolean {
  return maxUnhealthy !== null && unhealthy > nodesAllowed(maxUnhealthy, selected, "down");
}

/** The memory at a later instant: a breaker whose time is over is closed, and the last moment of a storm is its end. */
export function remembered(
  before: LimitMemory,
  { limits, counts, isHalted }: { readonly limits: Limits; readonly counts: LimitCounts; readonly isHalted: boolean },
  nowMs: number,
): LimitMemory {
  const { circuitBreaker } = limits;
  const trippedMs = isOpen(circuitBreaker, before.trippedMs, nowMs) ? before.trippedMs : null;
  const isStorm = trippedMs !== null || isHalted || isTooUnhealthy(limits, counts);
  const resetMs = isStorm ? null : resetAtMs(circuitBreaker, before.trippedMs);
  const endedMs = before.isStorm ? Math.min(nowMs, resetMs ?? nowMs) : before.stormEndedMs;
  const stormEndedMs = isStorm ? null : endedMs;
  const isSame = trippedMs === before.trippedMs && isStorm === before.isStorm && stormEndedMs === before.stormEndedMs;
  return isSame ? before : { trippedMs, isStorm, stormEndedMs };
}

/** The memory of a policy whose breaker trips now. */
export function trippedAt(nowMs: number): LimitMemory {
  return { trippedMs: nowMs, isStorm: true, stormEndedMs: null };
}

/** What the limits of a policy decide by. */
export interface LimitState {
  readonly counts: LimitCounts;
  readonly memory: LimitMemory;
  /** What the budgets allow now. */
  readonly allowance: Allowance;
  /** When a node of this policy in the candidate's zone was admitted or permitted last; null for never. */
  readonly zoneAdmittedMs: number | null;
}

/** Why no further node of a zone may be admitted now; null when one may. */
export function blockOf(limits: Limits, state: LimitState, { nowMs, wallMs }: Instant): LimitBlock | null {
  const { counts, memory, allowance } = state;
  const at = (ms: number): number => Math.ceil(wallMs + (ms - nowMs));
  return (
    breakerBlock(limits, memory, { nowMs, at }) ??
    unhealthyBlock(limits, counts) ??
    cooldownBlock(limits, state, { nowMs, at }) ??
    budgetBlock(allowance, counts) ??
    windowBlock(limits, counts, at) ??
    ceilingBlock(limits, counts, at)
  );
}

/**
 * Whether one more node, which no other limit blocks, trips the breaker: admitted nodes, not only permitted ones, fill
 * the window. Example: a breaker of 5 nodes within 10 min, and five nodes were admitted at 10:00. A sixth node that
 * waits at 10:04 trips it; one that waits at 10:11 does not.
 */
export function trips({ circuitBreaker }: Limits, { selected, inWindow }: LimitCounts): boolean {
  return circuitBreaker !== null && inWindow >= breakerNodesMax(circuitBreaker, selected);
}

/**
 * Whether so many nodes have gone down within the breaker's duration that it opens before any is admitted. Example: a
 * breaker of 5 nodes lets the pods of 5 silent nodes be marked not ready; with the sixth it opens.
 */
export function tripsByDown(
  { circuitBreaker }: Limits,
  { selected, down }: { readonly selected: number; readonly down: number },
): boolean {
  return circuitBreaker?.holdsReadiness === true && down > breakerNodesMax(circuitBreaker, selected);
}

interface Now {
  readonly nowMs: number;
  /** A monotonic instant in epoch milliseconds. */
  readonly at: (ms: number) => number;
}

function breakerBlock({ circuitBreaker }: Limits, { trippedMs }: LimitMemory, { nowMs, at }: Now): LimitBlock | null {
  if (circuitBreaker === null || trippedMs === null || !isOpen(circuitBreaker, trippedMs, nowMs)) return null;
  const resetMs = resetAtMs(circuitBreaker, trippedMs);
  const detail = `the breaker is open since ${apiTime(at(trippedMs))}`;
  return { field: "circuitBreaker", untilAt: resetMs === null ? null : at(resetMs), detail };
}

function unhealthyBlock(limits: Limits, counts: LimitCounts): LimitBlock | null {
  if (limits.maxUnhealthy === null || !isTooUnhealthy(limits, counts)) return null;
  const most = nodesAllowed(limits.maxUnhealthy, counts.selected, "down");
  const detail = `${counts.unhealthy} of ${counts.selected} nodes are unhealthy, at most ${most} may be`;
  return { field: "maxUnhealthy", untilAt: null, detail };
}

/**
 * Example: a policy has a cooldown of 10 min and a secondary rate of 0.01 nodes/s. If a storm ends at 10:00, no node is
 * admitted until 10:10, then one node per zone in 100 s until 10:20, and after that the cooldown blocks none.
 */
function cooldownBlock(
  { stormCooldownMs, secondaryPerSecond }: Limits,
  { memory, zoneAdmittedMs }: Pick<LimitState, "memory" | "zoneAdmittedMs">,
  { nowMs, at }: Now,
): LimitBlock | null {
  if (stormCooldownMs === null) return null;
  const field = "stormCooldownDuration";
  if (memory.isStorm) return { field, untilAt: null, detail: "a storm is under way" };
  if (memory.stormEndedMs === null) return null;
  const slowMs = memory.stormEndedMs + stormCooldownMs;
  if (nowMs < slowMs) return { field, untilAt: at(slowMs), detail: "a storm has ended" };
  const endMs = slowMs + stormCooldownMs;
  if (nowMs >= endMs) return null;
  const nextMs = zoneAdmittedMs === null ? nowMs : zoneAdmittedMs + 1000 / secondaryPerSecond;
  const untilMs = secondaryPerSecond === 0 ? endMs : Math.min(endMs, nextMs);
  if (untilMs <= nowMs) return null;
  return { field, untilAt: at(untilMs), detail: "after a storm the secondary rate counts" };
}

function budgetBlock({ nodes, untilAt }: Allowance, { selected, admitted, permitted }: LimitCounts): LimitBlock | null {
  if (admitted + permitted < nodes) return null;
  const evicted = `${admitted} of ${selected} nodes are evicted${permittedToo(permitted)}`;
  const detail = `${evicted}, at most ${nodes} may be at once`;
  // A node that recovers may free a place before the schedule ends.
  const isFreed = nodes > 0 && untilAt !== null;
  return { field: "budgets", untilAt, detail: isFreed ? `${detail}, unless one of them recovers` : detail };
}

function windowBlock({ circuitBreaker }: Limits, counts: LimitCounts, at: (ms: number) => number): LimitBlock | null {
  if (circuitBreaker === null) return null;
  const { selected, permitted, inWindow, windowMovesMs } = counts;
  const most = breakerNodesMax(circuitBreaker, selected);
  if (inWindow + permitted < most) return null;
  const durationS = circuitBreaker.durationMs / 1000;
  const detail = `${inWindow} nodes were admitted for eviction within ${durationS} s${permittedToo(permitted)}`;
  return { field: "circuitBreaker", untilAt: windowMovesMs === null ? null : at(windowMovesMs), detail };
}

function ceilingBlock({ ceiling }: Limits, counts: LimitCounts, at: (ms: number) => number): LimitBlock | null {
  if (ceiling === null) return null;
  const { selected, admitted, permitted, inWindow, windowMovesMs } = counts;
  const most = breakerNodesMax(ceiling, selected);
  const field = CEILING_FLAG;
  const allowed = `at most ${most} of ${selected} may`;
  if (admitted + permitted >= most) {
    const detail = `${admitted} nodes carry NoExecute taints of policies${permittedToo(permitted)}, ${allowed}`;
    return { field, untilAt: null, detail };
  }
  const newly = inWindow + permitted;
  if (newly < most) return null;
  const within = `within ${ceiling.durationMs / 1000} s${permittedToo(permitted)}`;
  const detail = `${inWindow} nodes got NoExecute taints of policies ${within}, ${allowed}`;
  return { field, untilAt: windowMovesMs === null ? null : at(windowMovesMs), detail };
}

/** The end of a sentence about admitted nodes: further nodes that count, because a zone may admit them now. */
function permittedToo(permitted: number): string {
  return permitted === 0 ? "" : ` and ${permitted} may be at any moment`;
}
