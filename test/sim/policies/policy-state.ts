/**
 * One policy as the checks understand it: parsed from the object of the API by rules of their own. A wrong field counts
 * as unset, but for budgets. It shares no code with the services.
 */
import { POOL_LABEL } from "./pools.ts";

/** A request to freeze nodes; instants are on the wall clock. */
export interface Pause {
  readonly name: string;
  readonly since: number | null;
  readonly until: number | null;
}

/** A number or a percentage of nodes. */
export type Count = number | `${number}%`;

/** A circuit breaker; either limit may be missing. */
export interface Breaker {
  readonly nodesMax: number | null;
  readonly percentage: number | null;
  readonly durationMs: number;
  readonly resetAfterMs: number;
  /** Whether pods of silent nodes may not be marked not ready while it is open. */
  readonly holdsReadiness: boolean;
}

/** A budget that always applies or, if it has a schedule, in the first part of each minute. */
export interface NodeBudget {
  readonly nodes: Count;
  readonly eachMinuteMs: number | null;
}

/** The rates that make the nodes of a policy a domain of their own in each zone. */
export interface Rates {
  readonly primary: number | null;
  readonly secondary: number | null;
  readonly full: number | null;
  readonly threshold: number | null;
}

/** When a node counts as flapping, and for how long. */
export interface Flapping {
  readonly transitions: number;
  readonly windowMs: number;
  readonly holdDownMs: number;
}

/** The most pods of a policy's nodes that may be evicted in any minute; null for no limit. */
export interface EvictionRates {
  readonly perMinuteMax: number | null;
  readonly perNamespacePerMinuteMax: number | null;
}

/** A policy as far as the checks follow it. */
export interface PolicyState {
  /** The pool that it selects. */
  readonly pool: string;
  readonly isFrozenByMode: boolean;
  /** How long its nodes may be silent, and those that have posted no status yet; null for the values of all nodes. */
  readonly monitorGraceMs: number | null;
  readonly startupGraceMs: number | null;
  readonly pauses: readonly Pause[];
  readonly maxUnhealthy: Count | null;
  readonly budgets: readonly NodeBudget[];
  readonly breaker: Breaker | null;
  /** Null where it sets none of them. */
  readonly rates: Rates | null;
  readonly stormCooldownMs: number | null;
  readonly healthyDelayMs: number | null;
  readonly unhealthyDelayMs: number | null;
  readonly flapping: Flapping | null;
  /** Null where it sets none of them. */
  readonly evictionRates: EvictionRates | null;
  /** Whether disruption budgets may refuse its evictions. */
  readonly asksBudgets: boolean;
  /** How long a node has to be silent before it is declared out of service; null for never. */
  readonly outOfServiceMs: number | null;
  /** How many remediations it has, one after the other. */
  readonly remediations: number;
  readonly conditions: readonly ConditionRule[];
  /** How long a condition of `maintenance` blocks evictions; null without the field. */
  readonly holdAtMostMs: number | null;
}

/** A condition that a policy makes a taint of. */
export interface ConditionRule {
  readonly type: string;
  readonly status: string;
  readonly durationMs: number;
  /** As `key:effect`. */
  readonly taint: string;
}

/** The only schedule that the checks read. */
export const EACH_MINUTE = "* * * * *";
const MINUTE_MS = 60_000;

type Raw = Readonly<Record<string, unknown>>;

/** Parses the spec of a policy; null for one without a pool. `recorded` are its pauses in other objects. */
export function policyStateOf(spec: Raw, recorded: readonly Pause[]): PolicyState | null {
  const { selector, mode, pauseRequests, maxUnhealthy } = spec;
  const pool = (selector as { matchLabels?: Raw } | undefined)?.matchLabels?.[POOL_LABEL];
  if (typeof pool !== "string") return null;
  return {
    pool,
    // A mode that cannot be read freezes too.
    isFrozenByMode: mode !== undefined && mode !== "Enforce",
    monitorGraceMs: msOf(spec.nodeMonitorGracePeriod),
    startupGraceMs: msOf(spec.nodeStartupGracePeriod),
    pauses: [...pausesIn(pauseRequests), ...recorded],
    maxUnhealthy: isCount(maxUnhealthy) ? maxUnhealthy : null,
    budgets: budgetsOf(spec.budgets),
    breaker: breakerOf(spec.circuitBreaker),
    rates: ratesOf(spec),
    stormCooldownMs: msOf(spec.stormCooldownDuration),
    healthyDelayMs: msOf(spec.healthyDelay),
    unhealthyDelayMs: msOf(spec.unhealthyDelay),
    flapping: flappingOf(spec.flapping),
    evictionRates: evictionRatesOf(spec.evictions),
    asksBudgets: ((spec.evictions ?? {}) as Raw).method !== undefined,
    remediations: Array.isArray(spec.remediations) ? spec.remediations.length : 0,
    conditions: conditionsOf(spec.unhealthyConditions),
    outOfServiceMs: msOf((spec.outOfService as Raw | undefined)?.after),
    holdAtMostMs: msOf(((spec.maintenance ?? {}) as Raw).atMost),
  };
}

/** The requests in a list of an object, with what is missing unset; anything else is none. */
export function pausesIn(list: unknown): (Pause & { readonly policy?: string })[] {
  if (!Array.isArray(list)) return [];
  const at = (text: string | undefined): number | null => (text === undefined ? null : Date.parse(text));
  return list.map(({ name = "unknown", since, until, policy }) => {
    return { name, since: at(since), until: at(until), ...(policy === undefined ? {} : { policy }) };
  });
}

/** How many of so many nodes a count allows. */
export function allowed(count: Count, selected: number, rounding: "up" | "down"): number {
  if (typeof count === "number") return count;
  const share = (Number.parseInt(count, 10) * selected) / 100;
  return rounding === "up" ? Math.ceil(share) : Math.floor(share);
}

/**
 * How many nodes a breaker allows to be admitted within its duration. Example: 2 nodes within 10 minutes; the breaker
 * opens if a third node waits within 10 minutes of the first admission.
 */
export function breakerMost({ nodesMax, percentage }: Breaker, selected: number): number {
  const share = percentage === null ? Infinity : allowed(`${percentage}%`, selected, "up");
  return Math.min(nodesMax ?? Infinity, share);
}

/**
 * The fewest nodes that the budgets of a policy have allowed at once, all the time from `wallMs` back to `fromMs`:
 * infinite without one in force for as long.
 */
export function budgetMost({ budgets }: PolicyState, selected: number, fromMs: number, wallMs: number): number {
  const inForce = budgets.filter(({ eachMinuteMs }) => {
    if (eachMinuteMs === null) return true;
    const minuteAt = wallMs - (wallMs % MINUTE_MS);
    return minuteAt <= fromMs && wallMs < minuteAt + eachMinuteMs;
  });
  return Math.min(Infinity, ...inForce.map(({ nodes }) => allowed(nodes, selected, "up")));
}

/** Whether a policy has a field that blocks nodes. */
export function isLimiting({ budgets, breaker, maxUnhealthy, stormCooldownMs }: PolicyState): boolean {
  return budgets.length > 0 || breaker !== null || maxUnhealthy !== null || stormCooldownMs !== null;
}

function isCount(value: unknown): value is Count {
  if (typeof value === "number") return Number.isInteger(value) && value >= 0;
  return typeof value === "string" && /^\d{1,2}%$/.test(value);
}

function msOf(value: unknown): number | null {
  const found = typeof value === "string" ? /^(\d+)s$/.exec(value) : null;
  return found === null ? null : Number(found[1]) * 1000;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

/**
 * A budget without a valid schedule always applies, as does one with a schedule that begins again before it is over.
 */
function budgetsOf(value: unknown): NodeBudget[] {
  if (!Array.isArray(value)) return [];
  return (value as Raw[]).flatMap(({ nodes, schedule, duration }) => {
    if (!isCount(nodes)) return [];
    const eachMinuteMs = schedule === EACH_MINUTE ? (msOf(duration) ?? 0) : MINUTE_MS;
    return [{ nodes, eachMinuteMs: eachMinuteMs < MINUTE_MS ? eachMinuteMs : null }];
  });
}

function breakerOf(value: unknown): Breaker | null {
  const { maxNodes, percentage, duration, resetAfter, holds } = (value ?? {}) as Raw;
  const [durationMs, resetAfterMs] = [msOf(duration), msOf(resetAfter)];
  const [nodesMax, share] = [numberOf(maxNodes), numberOf(percentage)];
  if ((nodesMax === null && share === null) || durationMs === null || resetAfterMs === null) return null;
  const holdsReadiness = Array.isArray(holds) && holds.includes("Readiness");
  return { nodesMax, percentage: share, durationMs, resetAfterMs, holdsReadiness };
}

function ratesOf(spec: Raw): Rates | null {
  const rates = {
    primary: numberOf(spec.nodeEvictionRate),
    secondary: numberOf(spec.secondaryNodeEvictionRate),
    full: numberOf(spec.fullDisruptionEvictionRate),
    threshold: numberOf(spec.unhealthyZoneThreshold),
  };
  return Object.values(rates).some((rate) => rate !== null) ? rates : null;
}

function evictionRatesOf(value: unknown): EvictionRates | null {
  const { maxPerMinute, maxPerNamespacePerMinute } = (value ?? {}) as Raw;
  const rates = { perMinuteMax: numberOf(maxPerMinute), perNamespacePerMinuteMax: numberOf(maxPerNamespacePerMinute) };
  return Object.values(rates).some((rate) => rate !== null) ? rates : null;
}

function flappingOf(value: unknown): Flapping | null {
  const { transitions, window, holdDown } = (value ?? {}) as Raw;
  const [windowMs, holdDownMs] = [msOf(window), msOf(holdDown)];
  if (typeof transitions !== "number" || windowMs === null || holdDownMs === null) return null;
  return { transitions, windowMs, holdDownMs };
}

function conditionsOf(value: unknown): ConditionRule[] {
  if (!Array.isArray(value)) return [];
  const rules = (value as Raw[]).map(({ type, status, duration, taint }) => {
    const { key, effect } = (taint ?? {}) as Raw;
    const isRight = typeof key === "string" && !key.startsWith("node.kubernetes.io/") && type !== "Ready";
    const durationMs = msOf(duration);
    if (!isRight || durationMs === null) return null;
    return { type: String(type), status: String(status), durationMs, taint: `${key}:${String(effect)}` };
  });
  return rules.every((rule) => rule !== null) ? rules : [];
}
