/**
 * What node policies promise: no harm to frozen nodes, exact countdowns, limits and rates that are kept, and healing
 * that nothing blocks. Each is checked against what the API shows, with bounds for what Vigil cannot know yet.
 */

import { isDeclared } from "../declared.ts";
import type { Pauses } from "../heard.ts";
import { BrokenInvariant, type CheckedNode, type CountdownEnds, conditionOf, zoneOf } from "../invariants.ts";
import { boundsOf } from "../small-bounds.ts";
import { isFrozen, policiesOf } from "./api-policies.ts";
import { CeilingChecks } from "./ceiling-checks.ts";
import { ConditionChecks } from "./condition-checks.ts";
import { DomainRates } from "./domain-rates.ts";
import { EvictionRateChecks } from "./eviction-rates.ts";
import { endAfter, FrozenTimes } from "./frozen-time.ts";
import { HoldChecks } from "./hold-checks.ts";
import { LimitChecks } from "./limit-checks.ts";
import { type PolicyRun, PolicyView, RECOVERY_MS } from "./policy-view.ts";
import { ProgressChecks } from "./progress-checks.ts";
import { RemediationChecks } from "./remediation-checks.ts";
import { StormChecks } from "./storm-checks.ts";

/** A request that was sent before a planned freeze began. */
const UNDER_WAY_MS = 1_000;

/** Follows the policies of one run and checks what is done under them. Instants are on the wall clock. */
export class PolicyChecks {
  readonly #view: PolicyView;
  readonly #frozen: FrozenTimes;
  readonly #limits: LimitChecks;
  readonly #rates: DomainRates;
  readonly #storms: StormChecks;
  readonly #holds: HoldChecks;
  readonly #conditions: ConditionChecks;
  readonly #progress: ProgressChecks;
  readonly #evictions: EvictionRateChecks;
  readonly #remediations: RemediationChecks;
  readonly #ceiling: CeilingChecks;

  constructor(run: PolicyRun) {
    this.#view = new PolicyView(run, (snapshot) => {
      this.#frozen.onSnapshot(snapshot);
      this.#recount();
    });
    const { swarm } = run.world;
    const lagMs = this.#view.unknownMs + (swarm.policies?.isRestarted === true ? RECOVERY_MS : 0);
    this.#frozen = new FrozenTimes(lagMs, boundsOf(swarm).frozenIntervalsMax);
    this.#limits = new LimitChecks(this.#view);
    this.#rates = new DomainRates(this.#view);
    const context = { view: this.#view, limits: this.#limits, rates: this.#rates };
    this.#storms = new StormChecks(context);
    this.#holds = new HoldChecks(this.#view);
    this.#conditions = new ConditionChecks(this.#view);
    this.#progress = new ProgressChecks(context);
    this.#evictions = new EvictionRateChecks(this.#view);
    this.#ceiling = new CeilingChecks(this.#view);
    this.#remediations = new RemediationChecks(this.#view, (node, what) => this.#checkFreeze(node, what));
  }

  /** What the API shows and has shown, for other checks. */
  get view(): PolicyView {
    return this.#view;
  }

  /** How far off a countdown may end. */
  get skewMs(): number {
    return this.#view.skewMs;
  }

  /** A process died or started. */
  disturbed(): void {
    this.#view.disturbances.push(this.#view.nowMs);
  }

  /** When countdowns on a node end that are frozen in other times too, at the earliest and at the latest. */
  ends(node: string, others: Pauses): CountdownEnds {
    const pool = this.#view.poolOf(node);
    // A policy that is gone may have frozen its nodes before.
    const snapshots = this.#view.api.since(0);
    const names = [...new Set(snapshots.flatMap((each) => policiesOf(each, pool).map(({ name }) => name)))];
    // A countdown that started a little earlier may have ended just before a freeze.
    const earlierMs = this.#view.isStamped ? 0 : this.#view.skewMs;
    const leastEndAt = (startAt: number, ms: number): number =>
      endAfter(startAt, ms, [
        ...this.#frozen.leastTimes(names, this.#view.knownMs),
        ...this.#conditions.heldLeast(node),
        ...others.least,
      ]);
    const heldMs = this.#conditions.heldMostMs(node);
    return {
      least: (startAt, ms) => Math.min(leastEndAt(startAt, ms), leastEndAt(startAt - earlierMs, ms) + earlierMs),
      most: (startAt, ms) => {
        const times = [...this.#frozen.mostTimes(names, this.#view.nowMs), ...others.most];
        return endAfter(startAt, ms + heldMs, times);
      },
    };
  }

  /** Records a change of a node. */
  node(node: CheckedNode, isGone: boolean): void {
    this.#remediations.node(node, isGone);
    this.#view.onNode(node, isGone);
    this.#holds.node(node, isGone);
    this.#limits.node(node, isGone);
    this.#ceiling.node();
    this.#conditions.node(node, isGone);
    this.#recount();
  }

  /** Vigil wrote to a node. */
  wrote(before: CheckedNode, after: CheckedNode): void {
    this.#holds.wrote(before, after);
    if (isDeclared(after) && !isDeclared(before)) this.#checkDeclared(after.metadata.name);
    this.#conditions.wrote(before, after);
    this.#ceiling.wrote(before, after);
    this.#remediations.wrote(before, after);
  }

  /**
   * Vigil set a NoExecute taint on a node that had none, or deletes the first pod of one in direct mode; with
   * `mayHaveWaited`, of one that it may have admitted long before.
   */
  onAdmitted(node: CheckedNode, mayHaveWaited = false): void {
    const { name, labels } = node.metadata;
    this.#checkFreeze(name, "admitted");
    this.#conditions.checkHold(name, "admitted");
    const pool = this.#view.poolOf(name);
    const policy = this.#view.onlyPolicy(pool);
    // In direct mode the pods of a node that was admitted may have waited for a rate of evictions since, and its policy
    // may have got other limits meanwhile.
    const isLate = mayHaveWaited || (this.#view.isDirect && this.#evictions.mayHoldBack(name));
    if (!isLate) this.#rates.check(node);
    if (policy !== null && !isLate) this.#storms.check(policy, node);
    const since = { atMs: this.#view.nowMs, isLate, untilMs: null };
    this.#view.admitted.push({ node: name, pool, zone: zoneOf(labels), ...since });
    if (policy !== null && !isLate) this.#limits.check(policy, name);
    if (policy !== null && !isLate) this.#holds.onAdmitted(policy, node);
    this.#recount();
  }

  /** Whether a rate of its policy, or a disruption budget, may have delayed the pods of a node. */
  mayDelay(node: string): boolean {
    return this.#evictions.mayHoldBack(node);
  }

  /** Vigil deleted a pod of a node. */
  evicted(node: string): void {
    this.#evictions.evicted(node);
    this.#emptied(node);
  }

  /** Vigil marked a pod of a node not ready. */
  marked(pod: string, node: string): void {
    this.#limits.marked(pod, node);
  }

  /** Vigil deleted a pod of a node, with no change of the node under way. */
  deleted(pod: string, name: string): void {
    this.#checkFreeze(name, `emptied of ${pod}`);
    this.#conditions.checkHold(name, `emptied of ${pod}`);
  }

  /** Checks what should have happened by now. */
  look(): void {
    this.#recount();
    this.#holds.look();
    this.#conditions.look();
    this.#progress.look();
    this.#remediations.look();
  }

  /** Brings up to date what follows from nodes and policies. */
  #recount(): void {
    this.#limits.recount();
    this.#rates.look();
    this.#storms.look();
  }

  /**
   * In direct mode a deletion shows the drain of its node, or an earlier one that has waited because the node seemed to
   * renew its lease again. Such a node may have returned meanwhile and not be ready.
   */
  #emptied(name: string): void {
    const node = this.#view.nodes.get(name);
    const ready = node === undefined ? undefined : conditionOf(node, "Ready");
    if (!this.#view.isDirect || node === undefined || ready?.status === "True") return;
    const { signs } = this.#view.run.world;
    const seemsHeard = signs.isShownAfter(name, Date.parse(ready?.lastTransitionTime ?? ""));
    const unknownSinceMs = this.#view.unknownSince.of(name);
    const seemedHeard = unknownSinceMs !== null && signs.isDatedAfter(name, unknownSinceMs);
    if (this.#view.drain(name)) this.onAdmitted(node, (ready?.status === "Unknown" && seemsHeard) || seemedHeard);
  }

  /** Vigil declared a node out of service: a policy of it allowed that lately, and it was not frozen. */
  #checkDeclared(name: string): void {
    this.#view.run.count("node declared out of service");
    this.#checkFreeze(name, "declared out of service");
    const pool = this.#view.poolOf(name);
    const isAllowed = this.#view.api
      .since(this.#view.knownMs)
      .some((snapshot) => policiesOf(snapshot, pool).some(({ outOfServiceMs }) => outOfServiceMs !== null));
    if (!isAllowed) throw new BrokenInvariant(`${name} was declared out of service without a policy that allows it`);
  }

  #checkFreeze(node: string, what: string): void {
    const { api, nowMs, knownMs, run } = this.#view;
    const pool = this.#view.poolOf(node);
    // A process with a wrong clock begins a planned freeze a moment late, or ends it a moment early.
    const skewMs = this.#view.isStamped ? 0 : this.#view.skewMs;
    const instants = [nowMs - UNDER_WAY_MS - skewMs, nowMs, nowMs + skewMs];
    const snapshots = api.since(knownMs);
    if (isFrozen(api.now, pool, nowMs)) run.count("harm while a freeze was not known yet");
    if (!snapshots.every((snapshot) => instants.every((atMs) => isFrozen(snapshot, pool, atMs)))) return;
    throw new BrokenInvariant(`${node} was ${what} while it was frozen`);
  }
}
