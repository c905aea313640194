/**
 * What node policies promise: no harm to frozen nodes, exact countdowns, limits that hold, and healing that nothing
 * holds back. Each is checked against what the API shows, with bounds for what Vigil cannot know yet.
 */
import { CLOCK_ERROR_MS, viewLagMs } from "../fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, conditionOf, isPaced } from "../invariants.ts";
import type { Swarm } from "../swarm.ts";
import type { World } from "../world.ts";
import { ApiPolicies, allowed, isFrozen, type PolicyState, policiesOf } from "./api-policies.ts";
import { FrozenTimes } from "./frozen-time.ts";
import { POOL_LABEL } from "./pools.ts";

/** From a change of a policy to the last request that does not know it: a watch, a tenth of a second, two messages. */
const KNOWN_MS = 2_500;
/** The same after a death or a start of a process: others notice it, take over, list and publish. */
const RECOVERY_MS = 20_000;
/** How long messages may be lost, delayed and published again. */
const REPEATED_MS = 45_000;
/** A request that was sent before a planned freeze began. */
const UNDER_WAY_MS = 1_000;
/** How late a node may be healed: two requests, and a pulse where a process has just begun. */
const HEALED_MS = 5_000;
/** The longest delay that a policy asks for before NoSchedule taints go. */
const HEALTHY_DELAY_MS = 15_000;
/** How far off a countdown may end, in a run without faults of the bus, the API and clocks. */
const EXACT_MS = 1_000;

/** A node with one of our NoExecute taints that Vigil has set. */
interface Condemned {
  readonly node: string;
  readonly pool: string | undefined;
  readonly atMs: number;
}

/** The parts of a run that these checks need. */
export interface PolicyRun {
  readonly world: World;
  readonly count: (situation: string) => void;
}

/** Follows the policies of one run and checks what is done under them. Instants are on the wall clock. */
export class PolicyChecks {
  readonly #run: PolicyRun;
  readonly #api: ApiPolicies;
  readonly #frozen: FrozenTimes;
  readonly #nodes = new Map<string, CheckedNode>();
  readonly #condemned: Condemned[] = [];
  /** Since when more nodes of a policy are unhealthy than it allows, by policy. */
  readonly #tooUnhealthy = new Map<string, number>();
  /** Since when a node has been ready with a taint that has to go, by node and effect. */
  readonly #unhealed = new Map<string, number>();
  /** The largest number of nodes that each pool has had. */
  readonly #sizes = new Map<string | undefined, number>();
  #disturbedMs = Number.NEGATIVE_INFINITY;

  constructor(run: PolicyRun) {
    this.#run = run;
    this.#frozen = new FrozenTimes(mayBeUnknownMs(run.world.swarm));
    this.#api = new ApiPolicies(run.world, (snapshot) => {
      this.#frozen.take(snapshot);
      this.#recount();
    });
  }

  /** How far off a countdown may end. */
  get skewMs(): number {
    return this.#run.world.swarm.policies?.isExact === true ? EXACT_MS : CLOCK_ERROR_MS;
  }

  /** A process died or started. */
  disturbed(): void {
    this.#disturbedMs = this.#nowMs;
  }

  /** When countdowns on a node end, at the earliest and at the latest. */
  ends(node: string): {
    least: (startAt: number, ms: number) => number;
    most: (startAt: number, ms: number) => number;
  } {
    const pool = this.#poolOf(node);
    // A policy that is gone may have frozen its nodes before.
    const names = [...new Set(this.#api.since(0).flatMap((each) => policiesOf(each, pool).map(({ name }) => name)))];
    return {
      least: (startAt, ms) => this.#frozen.leastEndAt(names, startAt, ms, this.#knownMs),
      most: (startAt, ms) => this.#frozen.mostEndAt(names, startAt, ms),
    };
  }

  /** Takes a change of a node. */
  node(node: CheckedNode, isGone: boolean): void {
    const { name } = node.metadata;
    if (isGone) this.#nodes.delete(name);
    else this.#nodes.set(name, node);
    const pool = this.#poolOf(name);
    this.#sizes.set(pool, Math.max(this.#sizes.get(pool) ?? 0, this.#selected(pool).length));
    this.#recount();
    this.#noteHealing(node, isGone);
  }

  /** Vigil set a NoExecute taint on a node that had none. */
  tainted(node: CheckedNode): void {
    const { name } = node.metadata;
    this.#checkFreeze(name, "tainted");
    const pool = this.#poolOf(name);
    const policy = this.#onlyPolicy(pool);
    this.#condemned.push({ node: name, pool, atMs: this.#nowMs });
    if (policy === null) return;
    this.#checkUnhealthy(policy, name);
    this.#checkBudgets(policy, name);
    this.#checkBreaker(policy, name);
    this.#recount();
  }

  /** Vigil deleted a pod of a node. */
  deleted(pod: string, node: string): void {
    this.#checkFreeze(node, `emptied of ${pod}`);
  }

  /** Checks what should have happened by now. */
  look(): void {
    const { swarm } = this.#run.world;
    for (const [key, sinceMs] of this.#unhealed) {
      const delayMs = key.endsWith("NoSchedule") ? HEALTHY_DELAY_MS : 0;
      const boundMs = HEALED_MS + delayMs + (swarm.policies?.isExact === true ? 0 : REPEATED_MS + viewLagMs(swarm));
      const lateMs = this.#nowMs - Math.max(sinceMs, this.#disturbedMs + RECOVERY_MS) - boundMs;
      if (lateMs > 0) throw new BrokenInvariant(`${key} of a ready node was still there ${lateMs} ms too late`);
    }
  }

  get #nowMs(): number {
    return this.#run.world.clock.wallMs();
  }

  /** The instant before which every process has known what the API showed. */
  get #knownMs(): number {
    const { swarm } = this.#run.world;
    const boundMs = swarm.policies?.isExact === true ? KNOWN_MS : REPEATED_MS + viewLagMs(swarm);
    const isRecovering = this.#nowMs - this.#disturbedMs < RECOVERY_MS;
    return Math.min(this.#nowMs, isRecovering ? this.#disturbedMs - RECOVERY_MS : this.#nowMs) - boundMs;
  }

  #poolOf(node: string): string | undefined {
    return this.#nodes.get(node)?.metadata.labels?.[POOL_LABEL];
  }

  #checkFreeze(node: string, what: string): void {
    const pool = this.#poolOf(node);
    const instants = [this.#nowMs - UNDER_WAY_MS, this.#nowMs];
    const snapshots = this.#api.since(this.#knownMs);
    if (isFrozen(this.#api.now, pool, this.#nowMs)) this.#run.count("harm while a freeze was not known yet");
    if (!snapshots.every((snapshot) => instants.every((atMs) => isFrozen(snapshot, pool, atMs)))) return;
    throw new BrokenInvariant(`${node} was ${what} while it was frozen`);
  }

  /** The policy that alone has applied to a pool for as long as somebody may not know otherwise; null for none. */
  #onlyPolicy(pool: string | undefined): string | null {
    const applied = this.#api.since(this.#knownMs).map((snapshot) => policiesOf(snapshot, pool));
    const [name] = applied[0]?.map((policy) => policy.name) ?? [];
    return name !== undefined && applied.every((each) => each.length === 1 && each[0]?.name === name) ? name : null;
  }

  /** What a policy has said of one field, for as long as somebody may not know it; null where it said nothing once. */
  #said<T>(policy: string, field: (state: PolicyState) => T | null): readonly T[] | null {
    const said = this.#api.since(this.#knownMs).map((each) => {
      const state = each.policies.get(policy);
      return state === undefined ? null : field(state);
    });
    const values = said.filter((value) => value !== null);
    return values.length === said.length ? values : null;
  }

  #checkUnhealthy(policy: string, node: string): void {
    const sinceMs = this.#tooUnhealthy.get(policy);
    if (sinceMs === undefined || sinceMs > this.#knownMs) return;
    throw new BrokenInvariant(
      `${node} was tainted ${this.#nowMs - sinceMs} ms after policy ${policy} reached maxUnhealthy`,
    );
  }

  #checkBudgets(policy: string, node: string): void {
    const pool = this.#poolOf(node);
    const selected = this.#selected(pool);
    const least = (state: PolicyState): number | null =>
      state.budgets.length === 0
        ? null
        : Math.min(...state.budgets.map((each) => allowed(each, this.#sizes.get(pool) ?? 0, "up")));
    const said = this.#said(policy, least);
    if (said === null) return;
    const tainted = selected.filter((each) => each.spec?.taints?.some(isPaced)).length;
    if (tainted <= Math.max(...said)) return;
    throw new BrokenInvariant(
      `${node} was tainted: ${tainted} nodes of policy ${policy}, whose budgets allow ${Math.max(...said)}`,
    );
  }

  #checkBreaker(policy: string, node: string): void {
    const said = this.#said(policy, ({ breaker }) => breaker);
    if (said === null) return;
    const nodesMax = Math.max(...said.map(({ maxNodes }) => maxNodes));
    const durationMs = Math.min(...said.map((breaker) => breaker.durationMs));
    const found = this.#condemnedSince(this.#poolOf(node), this.#nowMs - durationMs + CLOCK_ERROR_MS, policy);
    if (found.size > nodesMax) {
      throw new BrokenInvariant(
        `${found.size} nodes of policy ${policy} were tainted within ${durationMs} ms, not ${nodesMax}`,
      );
    }
  }

  /** The nodes that were condemned since an instant and since their policy had its breaker. */
  #condemnedSince(pool: string | undefined, fromMs: number, policy: string): ReadonlySet<string> {
    const snapshots = this.#api.since(fromMs);
    const without = snapshots.findLastIndex(({ policies }) => policies.get(policy)?.breaker == null);
    const sinceMs = Math.max(fromMs, (snapshots[without + 1]?.fromMs ?? fromMs) + KNOWN_MS);
    const found = this.#condemned.filter((each) => each.pool === pool && each.atMs > sinceMs);
    return new Set(found.map(({ node }) => node));
  }

  #selected(pool: string | undefined): CheckedNode[] {
    return [...this.#nodes.values()].filter(({ metadata }) => metadata.labels?.[POOL_LABEL] === pool);
  }

  /** Brings up to date since when limits of policies are reached. */
  #recount(): void {
    const { now } = this.#api;
    for (const [name, state] of now.policies) this.#note(this.#tooUnhealthy, name, this.#isTooUnhealthy(state));
    for (const limits of [this.#tooUnhealthy]) {
      for (const name of limits.keys()) if (!now.policies.has(name)) limits.delete(name);
    }
  }

  #isTooUnhealthy({ pool, maxUnhealthy }: PolicyState): boolean {
    if (maxUnhealthy === null) return false;
    const selected = this.#selected(pool);
    const statuses = selected.map((node) => conditionOf(node, "Ready")?.status);
    const unhealthy = statuses.filter((status) => status === "False" || status === "Unknown").length;
    return unhealthy > allowed(maxUnhealthy, this.#sizes.get(pool) ?? 0, "down");
  }

  #noteHealing(node: CheckedNode, isGone: boolean): void {
    const isReady = !isGone && conditionOf(node, "Ready")?.status === "True";
    const taints = node.spec?.taints ?? [];
    const sick = taints.filter(({ key }) => key.endsWith("/not-ready") || key.endsWith("/unreachable"));
    for (const effect of ["NoExecute", "NoSchedule"]) {
      const isLeft = isReady && sick.some((taint) => taint.effect === effect);
      this.#note(this.#unhealed, `${node.metadata.name}: ${effect}`, isLeft);
    }
  }

  #note(since: Map<string, number>, key: string, isSo: boolean): void {
    if (!isSo) since.delete(key);
    else if (!since.has(key)) since.set(key, this.#nowMs);
  }
}

/** How long a change of a freeze may be unknown to the process that remembers it. */
function mayBeUnknownMs(swarm: Swarm): number {
  const { isExact = false, isRestarted = false } = swarm.policies ?? {};
  return (isExact ? KNOWN_MS : REPEATED_MS + viewLagMs(swarm)) + (isRestarted ? RECOVERY_MS : 0);
}
