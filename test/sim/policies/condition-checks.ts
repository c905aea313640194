/**
 * Taints for conditions: they come after the duration of a rule and not before, go when the condition has another
 * status, and stay when it has none. Each is checked against the conditions that the API has shown.
 */
import { viewLagMs } from "../fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, conditionOf, taintName } from "../invariants.ts";
import { policiesOf } from "./api-policies.ts";
import { leastMaintenanceTimes, type Status } from "./maintenance-time.ts";
import type { ConditionRule } from "./policy-state.ts";
import { type PolicyView, RECOVERY_MS, REPEATED_MS } from "./policy-view.ts";

/** The conditions that agents report in runs with policies. */
export const CONDITION_TYPES = ["KernelDeadlock", "GpuLost"] as const;
/** The condition that blocks evictions in runs with policies. */
export const HOLD_TYPE = "DrainInProgress";
/** The prefix of the keys of their taints. */
const CONDITION_KEY_PREFIX = "vigil.io/";
/** Two requests, and a pulse where a process has just begun. */
const LATE_MS = 6_000;
/** How far back statuses are kept: longer than any view is old. */
const KEPT_MS = 300_000;

/** Follows the conditions of all nodes. */
export class ConditionChecks {
  readonly #view: PolicyView;
  readonly #statuses = new Map<string, Status[]>();

  constructor(view: PolicyView) {
    this.#view = view;
  }

  /** Records a change of a node. */
  node(node: CheckedNode, isGone: boolean): void {
    const { nowMs } = this.#view;
    for (const type of [...CONDITION_TYPES, HOLD_TYPE]) {
      const key = `${node.metadata.name} ${type}`;
      if (isGone) this.#statuses.delete(key);
      else this.#note(key, conditionOf(node, type)?.status ?? null, nowMs);
    }
  }

  /** Vigil wrote to a node. */
  wrote(before: CheckedNode, after: CheckedNode): void {
    const [had, has] = [before, after].map(taintsOf);
    for (const taint of has ?? []) if (had?.includes(taint) === false) this.#checkAdded(after, taint);
    for (const taint of had ?? []) if (has?.includes(taint) === false) this.#checkRemoved(after, taint);
  }

  /** No node is admitted for eviction while it is in maintenance by its policy, as every process knows. */
  checkHold(name: string, what: string): void {
    const { nowMs, skewMs, run } = this.#view;
    const last = this.#statuses.get(`${name} ${HOLD_TYPE}`)?.at(-1);
    if (last?.status !== "True") return;
    const policy = this.#view.onlyPolicy(this.#view.poolOf(name), last.fromMs - this.#staleMs);
    const atMostMs =
      policy === null ? null : this.#view.steady(policy, (state) => state.holdAtMostMs, last.fromMs - this.#staleMs);
    if (atMostMs === null || nowMs - last.fromMs <= this.#staleMs) return;
    run.count("node in maintenance");
    if (nowMs < this.#beganMs(name) + atMostMs - skewMs)
      throw new BrokenInvariant(`${name} was ${what} in its maintenance`);
  }

  /**
   * When Vigil may have begun to count the maintenance of a node. One that ended and began again between the death of a
   * process and a start may have gone on for all that anyone saw.
   */
  #beganMs(name: string): number {
    const statuses = this.#statuses.get(`${name} ${HOLD_TYPE}`) ?? [];
    let index = statuses.length - 1;
    while (statuses[index - 2]?.status === "True") {
      const [endedMs, beganMs] = [statuses[index - 1]?.fromMs ?? 0, statuses[index]?.fromMs ?? 0];
      const isUnseen =
        this.#view.wasDisturbed(endedMs - RECOVERY_MS, endedMs) &&
        this.#view.wasDisturbed(beganMs, beganMs + RECOVERY_MS);
      if (!isUnseen) break;
      index -= 2;
    }
    return statuses[index]?.fromMs ?? Number.NEGATIVE_INFINITY;
  }

  /** How long the evictions of a node may have been blocked by now. */
  heldMostMs(name: string): number {
    const holds = (this.#statuses.get(`${name} ${HOLD_TYPE}`) ?? []).filter(({ status }) => status === "True");
    const snapshots = this.#view.api.since(0);
    const states = snapshots.flatMap((each) => policiesOf(each, this.#view.poolOf(name)));
    const atMostMs = Math.max(0, ...states.map(({ holdAtMostMs }) => holdAtMostMs ?? 0));
    return holds.length * (atMostMs + this.#staleMs);
  }

  /** When the evictions of a node have been blocked in any case, as every process knows. */
  heldLeast(name: string): readonly (readonly [fromMs: number, toMs: number])[] {
    const { api, knownMs, swarm } = this.#view;
    const pool = this.#view.poolOf(name);
    const statuses = this.#statuses.get(`${name} ${HOLD_TYPE}`) ?? [];
    const lagMs = this.#staleMs + (swarm.policies?.isRestarted === true ? RECOVERY_MS : 0);
    const held = leastMaintenanceTimes({ statuses, snapshots: api.since(0), pool }, lagMs);
    return held.filter(([fromMs]) => fromMs - lagMs <= knownMs);
  }

  /** Checks what should have happened by now: only where nothing is slow and no process ends. */
  look(): void {
    const { isExact, swarm } = this.#view;
    if (!isExact || swarm.policies?.isRestarted !== false || swarm.faults.has("wrongClocks")) return;
    for (const node of this.#view.nodes.values()) {
      const pool = this.#view.poolOf(node.metadata.name);
      const policy = this.#view.onlyPolicy(pool, this.#view.nowMs - KEPT_MS / 2);
      if (policy === null) continue;
      const rules = this.#view.steady(policy, ({ conditions }) => conditions, this.#view.nowMs - KEPT_MS / 2) ?? [];
      for (const rule of rules) if (!rule.taint.endsWith(":NoExecute")) this.#checkLate(node, rule);
    }
  }

  #note(key: string, status: string | null, nowMs: number): void {
    const known = this.#statuses.get(key) ?? [];
    if (known.at(-1)?.status === status && known.length > 0) return;
    const kept = known.filter((_each, index) => (known[index + 1]?.fromMs ?? nowMs) > nowMs - KEPT_MS);
    this.#statuses.set(key, [...kept, { status, fromMs: nowMs }]);
  }

  /** How long ago a process may have read what it acts on. */
  get #staleMs(): number {
    const { isExact, swarm, unknownMs, skewMs } = this.#view;
    return isExact ? unknownMs + skewMs : unknownMs + skewMs + REPEATED_MS + viewLagMs(swarm);
  }

  #checkAdded({ metadata: { name } }: CheckedNode, taint: string): void {
    const { nowMs, skewMs, api, run } = this.#view;
    run.count(taint.endsWith(":NoExecute") ? "NoExecute for a condition" : "NoSchedule for a condition");
    const policies = api.since(this.#view.knownMs).flatMap((each) => policiesOf(each, this.#view.poolOf(name)));
    const rules = policies.flatMap(({ conditions }) => conditions.filter((rule) => rule.taint === taint));
    const lasted = rules.some(({ type, status, durationMs }) =>
      this.#spans(`${name} ${type}`, status).some(
        ([fromMs, toMs]) => toMs >= nowMs - this.#staleMs && nowMs - fromMs >= durationMs - skewMs - 1_000,
      ),
    );
    if (!lasted) throw new BrokenInvariant(`${name} got ${taint}, and no condition has lasted long enough`);
  }

  /**
   * While one policy names the taint, it is removed only once a condition that the policy names is known to have
   * changed.
   */
  #checkRemoved({ metadata: { name } }: CheckedNode, taint: string): void {
    const { nowMs, knownMs, run } = this.#view;
    const policy = this.#view.onlyPolicy(this.#view.poolOf(name));
    const conditions = policy === null ? null : this.#view.steady(policy, (state) => state.conditions, knownMs);
    const rules = (conditions ?? []).filter((rule) => rule.taint === taint);
    if (rules.length === 0) return;
    run.count("taint of a condition that healed");
    const isHealed = rules.some(({ type, status }) =>
      (this.#statuses.get(`${name} ${type}`) ?? []).some((each, index, all) => {
        const isWell = each.status !== null && each.status !== status && each.status !== "Unknown";
        return isWell && (all[index + 1]?.fromMs ?? nowMs) >= nowMs - this.#staleMs;
      }),
    );
    // In a halt every NoExecute taint is removed.
    if (!isHealed && !taint.endsWith(":NoExecute")) {
      throw new BrokenInvariant(`${name} lost ${taint}, and its condition has not healed`);
    }
  }

  #checkLate(node: CheckedNode, { type, status, durationMs, taint }: ConditionRule): void {
    const { name } = node.metadata;
    const { nowMs, disturbedMs } = this.#view;
    const last = this.#statuses.get(`${name} ${type}`)?.at(-1);
    if (last === undefined || nowMs - disturbedMs < RECOVERY_MS) return;
    const lateMs = nowMs - last.fromMs - durationMs - LATE_MS - this.#staleMs;
    if (last.status === status && lateMs > 0 && !taintsOf(node).includes(taint)) {
      throw new BrokenInvariant(`${name} has no ${taint} ${lateMs} ms after ${type} has lasted long enough`);
    }
  }

  /** When a condition had a status, until now where it still has it. */
  #spans(key: string, status: string): (readonly [fromMs: number, toMs: number])[] {
    const statuses = this.#statuses.get(key) ?? [];
    return statuses.flatMap((each, index) => {
      if (each.status !== status) return [];
      return [[each.fromMs, statuses[index + 1]?.fromMs ?? this.#view.nowMs] as const];
    });
  }
}

function taintsOf({ spec }: CheckedNode): string[] {
  return (spec?.taints ?? []).map(taintName).filter((taint) => taint.startsWith(CONDITION_KEY_PREFIX));
}
