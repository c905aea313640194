/**
 * What the checks of node policies see: the nodes of each pool, what policies have said, and since when every process
 * must know it. It judges nothing. Instants are on the wall clock.
 */
import { CLOCK_ERROR_MS, viewLagMs } from "../fault-bounds.ts";
import { type Grace, profileGrace } from "../graces.ts";
import { type CheckedNode, conditionOf, isConditionTaint, isPaced } from "../invariants.ts";
import type { Swarm } from "../swarm.ts";
import type { World } from "../world.ts";
import { ApiPolicies, domainOf, freezesOf, isFrozen, type PolicySnapshot, policiesOf } from "./api-policies.ts";
import type { PolicyState } from "./policy-state.ts";
import { POOL_LABEL } from "./pools.ts";

/** From a change of a policy to the last request that does not know it: a watch, a tenth of a second, two messages. */
const KNOWN_MS = 2_500;
/** The same after a death or a start of a process: other processes notice it, take over, list and publish. */
export const RECOVERY_MS = 20_000;
/** How long messages may be lost, delayed and published again. */
export const REPEATED_MS = 45_000;
/** How far off a countdown may end, in a run without faults of the bus, the API and clocks. */
const EXACT_MS = 1_000;

/** A node that Vigil tainted NoExecute or, in direct mode, began to drain. */
export interface AdmittedNode {
  readonly node: string;
  readonly pool: string | undefined;
  readonly zone: string;
  readonly atMs: number;
  /** Whether it may have been admitted long before. */
  readonly isLate?: boolean;
  /** When it was healed or deleted; null while it is admitted for eviction. */
  untilMs: number | null;
}

/** The parts of a run that these checks need. */
export interface PolicyRun {
  readonly world: World;
  readonly count: (situation: string) => void;
}

/** The nodes and policies of one run. */
export class PolicyView {
  readonly run: PolicyRun;
  readonly api: ApiPolicies;
  readonly nodes = new Map<string, CheckedNode>();
  /** In order. */
  readonly admitted: AdmittedNode[] = [];
  /** When processes died or started. */
  readonly disturbances: number[] = [];
  /** Since when a node that is not ready was first Unknown. */
  readonly unknownSince = new SinceWhen();
  /** The nodes that were drained in direct mode since they were last ready. */
  readonly #drained = new Set<string>();
  /** The largest number of nodes that each pool has had. */
  readonly #sizes = new Map<string | undefined, number>();

  constructor(run: PolicyRun, changed: (now: PolicySnapshot) => void) {
    this.run = run;
    this.api = new ApiPolicies(run.world, changed);
  }

  get swarm(): Swarm {
    return this.run.world.swarm;
  }

  get nowMs(): number {
    return this.run.world.clock.wallMs();
  }

  /** Whether nothing slows down a message, a request or a clock. Then times are exact. */
  get isExact(): boolean {
    return this.swarm.policies?.isExact === true;
  }

  get isDirect(): boolean {
    return this.swarm.profile.evictionMode === "direct";
  }

  /** Whether countdowns start exactly at the stamps of their taints. */
  get isStamped(): boolean {
    return this.isExact && !this.swarm.faults.has("wrongClocks");
  }

  /** How far off an instant may be for a process. */
  get skewMs(): number {
    return this.isStamped ? EXACT_MS : CLOCK_ERROR_MS;
  }

  get disturbedMs(): number {
    return this.disturbances.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** How long a change may be unknown to a process that nothing has just disturbed. */
  get unknownMs(): number {
    if (this.isExact) return KNOWN_MS;
    const isChaos = this.swarm.policies?.isChaos === true;
    return (
      (isChaos ? REPEATED_MS + viewLagMs(this.swarm) : KNOWN_MS) +
      (this.swarm.policies?.isSplit === true ? this.settleMs : 0)
    );
  }

  /** The instant before which every process has known what the API showed. */
  get knownMs(): number {
    const isRecovering = this.nowMs - this.disturbedMs < RECOVERY_MS;
    return Math.min(this.nowMs, isRecovering ? this.disturbedMs - RECOVERY_MS : this.nowMs) - this.unknownMs;
  }

  /** How long the owner of the limits may decide nothing after a death or a start: its predecessor's permits end. */
  get settleMs(): number {
    return this.swarm.profile.pulseTimeoutMs + RECOVERY_MS;
  }

  onNode(node: CheckedNode, isGone: boolean): void {
    const { name } = node.metadata;
    if (isGone) this.nodes.delete(name);
    else this.nodes.set(name, node);
    const status = isGone ? "True" : conditionOf(node, "Ready")?.status;
    if (status === "True") this.#drained.delete(name);
    const wasUnknown = status !== "True" && this.unknownSince.of(name) !== null;
    this.unknownSince.note(name, wasUnknown || status === "Unknown", this.nowMs);
    const last = this.admitted.findLast((each) => each.node === name);
    if (last !== undefined && (isGone || !this.isAdmitted(node))) last.untilMs ??= this.nowMs;
    const pool = this.poolOf(name);
    this.#sizes.set(pool, Math.max(this.sizeOf(pool), this.selected(pool).length));
  }

  /** Records a drain; false for a node that was drained before. */
  drain(node: string): boolean {
    if (this.#drained.has(node)) return false;
    this.#drained.add(node);
    return true;
  }

  poolOf(node: string): string | undefined {
    return this.nodes.get(node)?.metadata.labels?.[POOL_LABEL];
  }

  /** The domain of a node by every policy that a process may have known since an instant; null where they differ. */
  domainSince(name: string, fromMs: number): string | null {
    const node = this.nodes.get(name);
    if (node === undefined) return null;
    const [domain = null, ...others] = new Set(
      this.api.since(fromMs - this.unknownMs).map((snapshot) => domainOf(snapshot, node)),
    );
    return others.length === 0 ? domain : null;
  }

  /**
   * The graces that a node may have had since an instant, by every snapshot that a process may have known then. If
   * several policies select it, none applies.
   */
  graces(node: string, fromMs = this.nowMs): readonly Grace[] {
    const pool = this.poolOf(node);
    const all = profileGrace(this.swarm.profile);
    return this.api.since(fromMs - (this.nowMs - this.knownMs)).map((snapshot) => {
      const [policy, ...others] = policiesOf(snapshot, pool);
      if (policy === undefined || others.length > 0) return all;
      const { monitorGraceMs, startupGraceMs } = policy;
      return { monitorMs: monitorGraceMs ?? all.monitorMs, startupMs: startupGraceMs ?? all.startupMs };
    });
  }

  selected(pool: string | undefined): CheckedNode[] {
    return [...this.nodes.values()].filter(({ metadata }) => metadata.labels?.[POOL_LABEL] === pool);
  }

  /** The largest number of nodes that a pool has had. */
  sizeOf(pool: string | undefined): number {
    return this.#sizes.get(pool) ?? 0;
  }

  /** Whether a node is admitted for eviction now. */
  isAdmitted({ metadata, spec }: CheckedNode): boolean {
    return this.isDirect
      ? this.#drained.has(metadata.name)
      : spec?.taints?.some((taint) => isPaced(taint) || isConditionTaint(taint)) === true;
  }

  /**
   * The only policy that has applied to a pool for as long as a process may still act on an older state; null for none.
   */
  onlyPolicy(pool: string | undefined, fromMs = this.knownMs): string | null {
    const applied = this.api.since(fromMs).map((snapshot) => policiesOf(snapshot, pool));
    const [name] = applied[0]?.map((policy) => policy.name) ?? [];
    return name !== undefined && applied.every((each) => each.length === 1 && each[0]?.name === name) ? name : null;
  }

  /** What a policy has said since an instant, by a function; null where it said nothing once. */
  said<T>(policy: string, field: (state: PolicyState) => T | null, fromMs = this.knownMs): readonly T[] | null {
    const said = this.api.since(fromMs).map((each) => {
      const state = each.policies.get(policy);
      return state === undefined ? null : field(state);
    });
    const values = said.filter((value) => value !== null);
    return values.length === said.length ? values : null;
  }

  /** What a policy has said about a field since an instant, if it has always said the same; null otherwise. */
  steady<T>(policy: string, field: (state: PolicyState) => T | null, fromMs: number): T | null {
    const said = this.said(policy, field, fromMs) ?? [];
    const [first = null] = said;
    return said.every((each) => JSON.stringify(each) === JSON.stringify(first)) ? first : null;
  }

  /**
   * Whether some process may have taken a node of a pool for frozen in a time that lasts until now, by any snapshot. A
   * planned freeze begins and ends by the clock of each process.
   */
  wasFrozen(pool: string | undefined, fromMs: number): boolean {
    const snapshots = this.api.since(fromMs);
    const [firstMs, lastMs] = [fromMs - this.skewMs, this.nowMs + this.skewMs];
    const starts = snapshots.flatMap((snapshot) =>
      [...snapshot.everywhere, ...policiesOf(snapshot, pool).flatMap(({ pauses }) => pauses)].map(({ since }) => since),
    );
    const within = starts.filter((at) => at !== null && at >= firstMs && at <= lastMs);
    const instants = [firstMs, lastMs, ...within];
    return snapshots.some((snapshot) => instants.some((at) => at !== null && isFrozen(snapshot, pool, at)));
  }

  /**
   * When freezes of the nodes of a pool were taken away before their end, since an instant. Such a freeze ends when
   * Vigil sees that it is gone, by the clock of the process that sees it.
   */
  withdrawals(pool: string | undefined, fromMs: number): readonly number[] {
    const snapshots = this.api.since(fromMs);
    return snapshots.slice(1).flatMap((now, index) => {
      const before = snapshots[index];
      const left = freezesOf(now, pool, -Infinity);
      // A freeze that was over has ended as planned. A process with a clock that is behind may not know that it was
      // over.
      const wanted = before === undefined ? [] : freezesOf(before, pool, now.fromMs - this.skewMs);
      return wanted.every((freeze) => left.includes(freeze)) ? [] : [now.fromMs];
    });
  }

  /** Whether processes died or started between two instants. */
  wasDisturbed(fromMs: number, toMs = Number.POSITIVE_INFINITY): boolean {
    return this.disturbances.some((atMs) => atMs >= fromMs && atMs <= toMs);
  }
}

/** Since when things are so, by their names. */
export class SinceWhen {
  readonly #since = new Map<string, number>();

  note(key: string, isSo: boolean, nowMs: number): void {
    if (!isSo) this.#since.delete(key);
    else if (!this.#since.has(key)) this.#since.set(key, nowMs);
  }

  /** Null while it is not so. */
  of(key: string): number | null {
    return this.#since.get(key) ?? null;
  }

  keys(): IterableIterator<string> {
    return this.#since.keys();
  }
}

/** Whether the API shows a node as down. */
export function isDown(node: CheckedNode): boolean {
  const status = conditionOf(node, "Ready")?.status;
  return status === "False" || status === "Unknown";
}
