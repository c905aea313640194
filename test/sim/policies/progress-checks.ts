/**
 * Limits end: a node that no limit, freeze or zone blocks any more is admitted at the rate of its domain. This is
 * checked only in runs in which nothing is slow and no process ends, and only where everything has been the same for
 * long enough.
 */
import { BrokenInvariant, type CheckedNode, conditionOf } from "../invariants.ts";
import { policiesOf } from "./api-policies.ts";
import type { DomainRates } from "./domain-rates.ts";
import type { LimitChecks } from "./limit-checks.ts";
import { budgetMost, isLimiting, type PolicyState } from "./policy-state.ts";
import { isDown, type PolicyView, SinceWhen } from "./policy-view.ts";

/** From a failure to the queue, from a grant to its taint, and the pause between two looks. */
const SLACK_MS = 12_000;
/** From the first policy with limits to the Lease of limits, and the part of its wait that is not a pulse timeout. */
const LEASE_MS = 10_000;
/** The key of all limits together. */
const ANY = "any";
/** Budgets with a schedule block nodes for a part of each minute. */
const MINUTE_MS = 60_000;

/** The parts that progress is checked against. */
export interface ProgressContext {
  readonly view: PolicyView;
  readonly limits: LimitChecks;
  readonly rates: DomainRates;
}

/** Checks that waiting nodes are admitted in the end. */
export class ProgressChecks {
  readonly #context: ProgressContext;
  /** Since when a node waits, by its name, its status and the rate of its domain. */
  readonly #waiting = new SinceWhen();
  readonly #calmLimits = new SinceWhen();
  /** Since when some policy has limits. Without any, no process holds the Lease of limits. */
  readonly #limited = new SinceWhen();

  constructor(context: ProgressContext) {
    this.#context = context;
  }

  /** Checks what should have happened by now. */
  look(): void {
    const { view } = this.#context;
    const { nowMs } = view;
    if (!view.isExact || view.isDirect || view.swarm.policies?.isRestarted !== false) return;
    if (view.swarm.faults.has("wrongClocks")) return;
    this.#noteLimits();
    const waiting = new Map<string, { readonly node: CheckedNode; readonly perSecond: number }>();
    for (const node of view.nodes.values()) {
      const perSecond = this.#context.rates.leastOf(node);
      if (!isDown(node) || view.isAdmitted(node) || perSecond <= 0) continue;
      waiting.set(`${node.metadata.name} ${conditionOf(node, "Ready")?.status} ${perSecond}`, { node, perSecond });
    }
    for (const key of this.#waiting.keys()) if (!waiting.has(key)) this.#waiting.note(key, false, nowMs);
    for (const [key, { node, perSecond }] of waiting) {
      this.#waiting.note(key, true, nowMs);
      this.#check(node, perSecond, this.#waiting.of(key) ?? nowMs);
    }
  }

  #noteLimits(): void {
    const { view } = this.#context;
    this.#limited.note(ANY, [...view.api.now.policies.values()].some(isLimiting), view.nowMs);
    for (const [policy, state] of view.api.now.policies) {
      this.#calmLimits.note(policy, !this.#isReached(policy, state), view.nowMs);
    }
    for (const policy of this.#calmLimits.keys()) {
      if (!view.api.now.policies.has(policy)) this.#calmLimits.note(policy, false, view.nowMs);
    }
  }

  /** Whether a limit that depends on the present nodes may block nodes. Vigil may count differently. */
  #isReached(policy: string, state: PolicyState): boolean {
    const { view, limits } = this.#context;
    const selected = view.selected(state.pool);
    const admitted = selected.filter((each) => view.isAdmitted(each)).length;
    const always = { ...state, budgets: state.budgets.filter(({ eachMinuteMs }) => eachMinuteMs === null) };
    return (
      limits.tooUnhealthy.of(policy) !== null || admitted >= budgetMost(always, selected.length, view.nowMs, view.nowMs)
    );
  }

  #check(node: CheckedNode, perSecond: number, waitsSinceMs: number): void {
    const { view } = this.#context;
    const { nowMs } = view;
    const pool = view.poolOf(node.metadata.name);
    const queueMs = (1000 * (view.nodes.size + 1)) / perSecond;
    const neededMs = SLACK_MS + queueMs + this.#holdMs(pool);
    if (nowMs - waitsSinceMs <= neededMs) return;
    const fromMs = nowMs - neededMs;
    const isSame = this.#isSteady(pool, fromMs);
    if (!isSame || view.wasFrozen(pool, fromMs - view.unknownMs)) return;
    const [policy] = policiesOf(view.api.now, pool);
    // Conditions count for limits and block nodes from an instant that only Vigil records.
    if (policy?.holdAtMostMs != null) return;
    if (policy?.conditions.some(({ taint }) => taint.endsWith(":NoExecute")) === true) return;
    if (policy !== undefined && isLimiting(policy)) {
      if (nowMs - (this.#limited.of(ANY) ?? nowMs) <= neededMs + this.#leaseMs) return;
      const calmSinceMs = this.#calmLimits.of(policy.name);
      if (calmSinceMs === null || nowMs - calmSinceMs <= neededMs) return;
      view.run.count("node waited although limits had ended");
      const last = view.admitted.findLast((each) => each.pool === pool);
      if (last !== undefined && nowMs - last.atMs <= neededMs) return;
    }
    throw new BrokenInvariant(`${node.metadata.name} waits for ${nowMs - waitsSinceMs} ms, and nothing holds it back`);
  }

  /**
   * How long no node is permitted after the first policy with limits: the Lease's holder waits for permits of earlier
   * holders.
   */
  get #leaseMs(): number {
    return 2 * this.#context.view.swarm.profile.pulseTimeoutMs + LEASE_MS;
  }

  /** Whether the same single policy, or none, has applied to a pool since an instant, and has said the same. */
  #isSteady(pool: string | undefined, fromMs: number): boolean {
    const { view } = this.#context;
    const texts = view.api.since(fromMs - view.unknownMs).map((snapshot) => {
      const policies = policiesOf(snapshot, pool);
      const isSingle = policies.length < 2;
      return isSingle ? JSON.stringify(policies.map((policy) => ({ ...policy, pauses: [] }))) : "conflict";
    });
    return texts.every((text) => text === texts[0] && text !== "conflict");
  }

  /** How long the limits of a pool's policy may block nodes after their reason has ended. */
  #holdMs(pool: string | undefined): number {
    const { view } = this.#context;
    const [policy] = policiesOf(view.api.now, pool);
    if (policy === undefined) return 0;
    const { breaker, stormCooldownMs, unhealthyDelayMs, budgets } = policy;
    const windowMs = breaker === null ? 0 : breaker.durationMs + breaker.resetAfterMs;
    const minuteMs = budgets.some(({ eachMinuteMs }) => eachMinuteMs !== null) ? MINUTE_MS : 0;
    return windowMs + 2 * (stormCooldownMs ?? 0) + (unhealthyDelayMs ?? 0) + minuteMs;
  }
}
