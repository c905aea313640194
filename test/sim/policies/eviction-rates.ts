/**
 * Evictions of a policy that limits their rate: in no minute more pods are evicted than it allows. This is also true on
 * a split bus, where each side has an owner and both reach the API server. Example: with a limit of 2 a minute and
 * evictions at seconds 0 and 20, the third is at second 60 or later.
 */
import { BrokenInvariant } from "../invariants.ts";
import { policiesOf } from "./api-policies.ts";
import type { EvictionRates } from "./policy-state.ts";
import type { PolicyView } from "./policy-view.ts";

const MINUTE_MS = 60_000;
/** How far off a minute may be for the owner of a count: its clock drifts, and a deletion shows after its request. */
const SLACK_MS = 2_000;
/** How long a rate may still delay a pod after it has ended: until the pod's eviction is requested again. */
const AFTER_MS = 600_000;

/** Follows the evictions of one run. */
export class EvictionRateChecks {
  readonly #view: PolicyView;
  /** In order. */
  readonly #evicted: { readonly pool: string | undefined; readonly atMs: number }[] = [];

  constructor(view: PolicyView) {
    this.#view = view;
  }

  /** Whether a rate or a disruption budget may have delayed the pods of a node. */
  mayHoldBack(node: string): boolean {
    const { api, nowMs } = this.#view;
    const pool = this.#view.poolOf(node);
    const states = api.since(nowMs - AFTER_MS).flatMap((snapshot) => policiesOf(snapshot, pool));
    return states.some(({ evictionRates, asksBudgets }) => evictionRates !== null || asksBudgets);
  }

  /** Vigil deleted a pod of a node. */
  evicted(node: string): void {
    const { nowMs, unknownMs } = this.#view;
    const pool = this.#view.poolOf(node);
    this.#evicted.push({ pool, atMs: nowMs });
    const fromMs = Math.min(this.#view.knownMs, nowMs - MINUTE_MS - unknownMs);
    const policy = this.#view.onlyPolicy(pool, fromMs);
    const said = policy === null ? null : this.#view.said(policy, ({ evictionRates }) => evictionRates, fromMs);
    if (said === null) return;
    this.#view.run.count("eviction under a rate");
    const most = Math.max(...said.map(mostOf));
    const sinceMs = nowMs - MINUTE_MS + SLACK_MS;
    const inWindow = this.#evicted.filter((each) => each.pool === pool && each.atMs > sinceMs).length;
    if (inWindow <= most) return;
    throw new BrokenInvariant(`${inWindow} pods of policy ${policy} were evicted within a minute, not ${most}`);
  }
}

/** All pods of a run are in one namespace. */
function mostOf({ perMinuteMax, perNamespacePerMinuteMax }: EvictionRates): number {
  return Math.min(perMinuteMax ?? Infinity, perNamespacePerMinuteMax ?? Infinity);
}
