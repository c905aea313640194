/**
 * What follows a storm: while a breaker is open, no node is admitted until it resets. After a storm no node is admitted
 * for stormCooldownDuration, then one node of a zone at a time at the secondary rate. Example: a breaker resets at
 * second 600 with a cooldown of 120 s and a secondary rate of 0.01 a second; the first node is admitted at 720, the
 * second at 820. A storm is recorded only where the owner of the limits must have noticed it, so each check is a lower
 * bound.
 */
import { BrokenInvariant, type CheckedNode, conditionOf, zoneOf } from "../invariants.ts";
import type { DomainRates } from "./domain-rates.ts";
import type { LimitChecks } from "./limit-checks.ts";
import { breakerMost, budgetMost, type PolicyState } from "./policy-state.ts";
import { isDown, type PolicyView, SinceWhen } from "./policy-view.ts";
import { GRACE_MAX_MS } from "./pools.ts";
import { StoredStorms } from "./stored-storms.ts";

/** How long a reason has to last until the owner of the limits has noticed it and its memory is stored. */
const NOTICED_MS = 4_000;
/** A new owner counts from stamps, which are whole seconds. */
const STAMP_MS = 1_500;
/** A waiting node was judged so long ago that every process knows it. */
const WAITS_MS = 2_000;

/** A storm: no node is admitted before `calmFromMs`, whichever process decides. */
interface Storm {
  readonly field: "circuitBreaker" | "maxUnhealthy";
  readonly fromMs: number;
  readonly calmFromMs: number;
}

/** The parts that storms follow from. */
export interface StormContext {
  readonly view: PolicyView;
  readonly limits: LimitChecks;
  readonly rates: DomainRates;
}

/** Follows the storms of all policies. */
export class StormChecks {
  readonly #context: StormContext;
  readonly #trips = new SinceWhen();
  /** When a breaker may have tripped, in order: an owner of the limits trips it before it permits a node. */
  readonly #mayTripMs = new Map<string, readonly number[]>();
  /** Since when nodes wait in their present state of readiness: in direct mode each counts for itself (R5.3). */
  readonly #waiting = new SinceWhen();
  /** Since when more nodes than maxUnhealthy allows are unhealthy, as the owner of the limits noticed it. */
  readonly #unhealthy = new Map<string, number>();
  readonly #storms = new Map<string, Storm>();
  readonly #stored: StoredStorms;

  constructor(context: StormContext) {
    this.#context = context;
    this.#stored = new StoredStorms(context.view.run.world);
  }

  /** Whether the last storm of a policy may still block nodes. */
  isOver(policy: string, { breaker, stormCooldownMs }: PolicyState): boolean {
    const { nowMs } = this.#context.view;
    const storm = this.#storms.get(policy);
    return storm === undefined || nowMs > storm.calmFromMs + (breaker?.resetAfterMs ?? 0) + 2 * (stormCooldownMs ?? 0);
  }

  /** Looks at the present state; called after each change and now and then. */
  look(): void {
    const { view } = this.#context;
    if (!view.isExact) return;
    for (const node of view.nodes.values()) {
      const isWaiting = !view.isAdmitted(node) && this.#context.rates.isGranting(node);
      for (const ready of DOWN)
        this.#waiting.note(waitOf(node, ready), isWaiting && readyOf(node) === ready, view.nowMs);
    }
    const { policies } = view.api.now;
    for (const policy of [...this.#trips.keys(), ...this.#storms.keys(), ...this.#unhealthy.keys()]) {
      if (!policies.has(policy)) this.#forget(policy);
    }
    for (const [policy, state] of policies) {
      this.#noteTrip(policy, state);
      this.#noteUnhealthy(policy);
    }
  }

  /** A node with one policy was admitted for eviction. */
  check(policy: string, node: CheckedNode): void {
    const { view } = this.#context;
    this.#checkStored(policy, node);
    const storm = this.#storms.get(policy);
    if (storm === undefined || view.nowMs < storm.fromMs) return;
    const skewMs = view.skewMs + STAMP_MS;
    const { name } = node.metadata;
    const sinceMs = storm.fromMs - view.unknownMs;
    if (view.steady(policy, limitsOf, sinceMs) === null) return;
    const [state] = view.said(policy, (each) => each, view.nowMs) ?? [];
    // While several policies select a node, none of them applies, and their limits see no storm.
    if (state === undefined || view.onlyPolicy(state.pool, sinceMs) !== policy) return;
    const cooldownMs = state.stormCooldownMs ?? 0;
    const closedMs = storm.calmFromMs + cooldownMs;
    if (view.nowMs < closedMs - skewMs) {
      throw new BrokenInvariant(
        `${name} was admitted ${view.nowMs - storm.fromMs} ms into a storm of policy ${policy} (${storm.field}), ` +
          `${closedMs - view.nowMs} ms too early`,
      );
    }
    if (view.nowMs < closedMs + cooldownMs - skewMs) this.#checkSlow(policy, state, node, closedMs);
  }

  /** Where nothing is slow and the policy has said the same all the while, a storm that was written down counts. */
  #checkStored(policy: string, { metadata: { name } }: CheckedNode): void {
    const { view } = this.#context;
    const { nowMs } = view;
    const state = view.api.now.policies.get(policy);
    const stored = state === undefined || !view.isExact ? null : this.#stored.of(policy, state, nowMs);
    if (stored === null || view.steady(policy, limitsOf, stored.sinceMs - view.settleMs) === null) return;
    view.run.count("node admitted after a storm that was written down");
    const earlyMs = stored.untilMs - nowMs - view.skewMs - STAMP_MS;
    if (earlyMs <= 0) return;
    throw new BrokenInvariant(
      `${name} was admitted ${earlyMs} ms too early in a storm of policy ${policy} that was written down`,
    );
  }

  /** After the cooldown the secondary rate counts, for each zone. */
  #checkSlow(policy: string, { pool, rates }: PolicyState, node: CheckedNode, closedMs: number): void {
    const { view } = this.#context;
    const perSecond = rates?.secondary ?? view.swarm.profile.secondaryNodeEvictionsPerSecond;
    const zone = zoneOf(node.metadata.labels);
    const isOther = (each: { node: string; pool: string | undefined; zone: string }): boolean =>
      each.pool === pool && each.zone === zone && each.node !== node.metadata.name;
    const before = view.admitted.findLast(isOther);
    if (before === undefined || before.atMs < closedMs) return;
    const pauseMs = view.nowMs - before.atMs;
    if (pauseMs >= 1000 / perSecond - view.skewMs - STAMP_MS) return;
    throw new BrokenInvariant(
      `${node.metadata.name} was admitted ${pauseMs} ms after ${before.node}; after a storm of policy ${policy} ` +
        `the rate is ${perSecond}/s`,
    );
  }

  /** A breaker trips when its window is full and one more node waits that nothing else blocks. */
  #noteTrip(policy: string, state: PolicyState): void {
    const { view } = this.#context;
    const { nowMs } = view;
    this.#noteMayTrip(policy, state);
    this.#trips.note(policy, this.#mustTrip(policy, state), nowMs);
    const sinceMs = this.#trips.of(policy);
    if (sinceMs === null || state.breaker === null || nowMs - sinceMs < NOTICED_MS) return;
    const known = this.#storms.get(policy);
    if (known !== undefined && known.field === "circuitBreaker" && known.calmFromMs > nowMs) return;
    view.run.count("breaker must be open");
    this.#storms.set(policy, {
      field: "circuitBreaker",
      fromMs: sinceMs + NOTICED_MS,
      calmFromMs:
        Math.min(sinceMs, this.#mayHaveTripped(policy, nowMs - state.breaker.resetAfterMs)) +
        state.breaker.resetAfterMs,
    });
  }

  /** Notes a moment at which a breaker may trip, and forgets those with a storm and a cooldown that are over. */
  #noteMayTrip(policy: string, state: PolicyState): void {
    const { nowMs } = this.#context.view;
    const overMs = nowMs - (state.breaker?.resetAfterMs ?? 0) - 2 * (state.stormCooldownMs ?? 0);
    const lasting = (this.#mayTripMs.get(policy) ?? []).filter((each) => each > overMs);
    this.#mayTripMs.set(policy, this.#mayTrip(state) ? [...lasting, nowMs] : lasting);
  }

  /** The first of the moments from an instant on at which a breaker may have tripped; infinite for none. */
  #mayHaveTripped(policy: string, fromMs: number): number {
    return this.#mayTripMs.get(policy)?.find((each) => each > fromMs) ?? Number.POSITIVE_INFINITY;
  }

  /** Whether a breaker's window may be full while a node waits. */
  #mayTrip({ breaker, pool }: PolicyState): boolean {
    const { view } = this.#context;
    const selected = view.selected(pool);
    if (breaker === null || !selected.some((node) => isDown(node) && !view.isAdmitted(node))) return false;
    const fromMs = view.nowMs - breaker.durationMs - view.skewMs - STAMP_MS;
    const admitted = view.admitted.filter((each) => each.pool === pool && each.atMs > fromMs);
    return new Set(admitted.map(({ node }) => node)).size >= breakerMost(breaker, selected.length);
  }

  #mustTrip(policy: string, state: PolicyState): boolean {
    const { view, limits } = this.#context;
    const { nowMs } = view;
    const { breaker, pool } = state;
    const settledMs = nowMs - view.settleMs;
    if (breaker === null || view.wasDisturbed(settledMs) || view.onlyPolicy(pool, settledMs) !== policy) return false;
    if (view.steady(policy, limitsOf, settledMs) === null || !this.isOver(policy, state)) return false;
    // The cooldown of an earlier storm may still block nodes.
    const openMs = nowMs - breaker.resetAfterMs;
    if ((state.stormCooldownMs ?? 0) > 0 && this.#mayHaveTripped(policy, Number.NEGATIVE_INFINITY) <= openMs)
      return false;
    // In direct mode a node waits once --pod-eviction-timeout is over, which freezes and outages pause.
    const waitsMs = WAITS_MS + (view.isDirect ? view.swarm.profile.podEvictionTimeoutMs : 0);
    if (limits.tooUnhealthy.of(policy) !== null || view.wasFrozen(pool, nowMs - view.unknownMs - waitsMs)) return false;
    if (view.isDirect && this.#mayBeDelayed(waitsMs + GRACE_MAX_MS)) return false;
    const selected = view.selected(pool);
    const admitted = selected.filter((each) => view.isAdmitted(each)).length;
    // A budget with a schedule may block nodes now.
    const always = { ...state, budgets: state.budgets.map((budget) => ({ ...budget, eachMinuteMs: null })) };
    if (admitted >= budgetMost(always, selected.length, nowMs, nowMs)) return false;
    const inWindow = limits.admittedSince(policy, pool, nowMs - breaker.durationMs + view.skewMs + STAMP_MS);
    if (inWindow.size < breakerMost(breaker, view.sizeOf(pool))) return false;
    return selected.some((each) => {
      const sinceMs = this.#waiting.of(waitOf(each, readyOf(each)));
      return sinceMs !== null && nowMs - sinceMs > waitsMs && !inWindow.has(each.metadata.name);
    });
  }

  /** Whether an outage may have lasted until so long ago. */
  #mayBeDelayed(withinMs: number): boolean {
    const { run, nowMs } = this.#context.view;
    return run.world.heard.pauses(nowMs).most.some(([, toAt]) => nowMs - toAt < withinMs);
  }

  /** More unhealthy nodes than allowed are a storm until there are fewer. */
  #noteUnhealthy(policy: string): void {
    const { view, limits } = this.#context;
    const { nowMs } = view;
    const sinceMs = limits.tooUnhealthy.of(policy);
    const noticedMs = this.#unhealthy.get(policy);
    if (sinceMs === null) {
      if (noticedMs !== undefined) this.#endUnhealthy(policy, noticedMs);
      return;
    }
    const settledMs = nowMs - view.settleMs;
    const isNoticed = nowMs - sinceMs >= NOTICED_MS && !view.wasDisturbed(settledMs);
    if (isNoticed && noticedMs === undefined) this.#unhealthy.set(policy, nowMs);
  }

  #endUnhealthy(policy: string, fromMs: number): void {
    const { view } = this.#context;
    this.#unhealthy.delete(policy);
    view.run.count("storm by maxUnhealthy");
    const known = this.#storms.get(policy);
    if (known !== undefined && known.calmFromMs > view.nowMs) return;
    this.#storms.set(policy, { field: "maxUnhealthy", fromMs, calmFromMs: view.nowMs });
  }

  #forget(policy: string): void {
    this.#trips.note(policy, false, 0);
    this.#mayTripMs.delete(policy);
    this.#storms.delete(policy);
    this.#unhealthy.delete(policy);
  }
}

/** The states of readiness in which a node waits. */
const DOWN = ["False", "Unknown"];

function readyOf(node: CheckedNode): string {
  return conditionOf(node, "Ready")?.status ?? "";
}

/** The wait of a node in a state of readiness. */
function waitOf({ metadata: { name } }: CheckedNode, ready: string): string {
  return `${name} ${ready}`;
}

/** The fields that limits follow from; a change of one may end a storm. */
function limitsOf(state: PolicyState): Partial<PolicyState> {
  const { maxUnhealthy, breaker, stormCooldownMs, rates } = state;
  return { maxUnhealthy, breaker, stormCooldownMs, rates };
}
