/** Limits that count nodes: maxUnhealthy, budgets, and the window of a breaker. No window ever contains more. */
import { CLOCK_ERROR_MS } from "../fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, conditionOf } from "../invariants.ts";
import { allowed, breakerMost, budgetMost, type PolicyState } from "./policy-state.ts";
import { type AdmittedNode, isDown, type PolicyView, SinceWhen } from "./policy-view.ts";

/** A request that was sent before a budget began to apply. */
const UNDER_WAY_MS = 1_000;
/** A node is judged to be down before the API shows it. */
const JUDGED_EARLIER_MS = 5_000;

/** Checks the nodes that are admitted for eviction against the limits of their policy. */
export class LimitChecks {
  readonly #view: PolicyView;
  /** Since when the API has shown a node as down. */
  readonly #downSince = new SinceWhen();
  /** Since when more nodes of a policy are unhealthy than it allows, by policy. */
  readonly tooUnhealthy = new SinceWhen();

  constructor(view: PolicyView) {
    this.#view = view;
  }

  /** Brings up to date since when limits of policies are reached. */
  recount(): void {
    const { policies } = this.#view.api.now;
    for (const name of new Set([...this.tooUnhealthy.keys(), ...policies.keys()])) {
      const state = policies.get(name);
      this.tooUnhealthy.note(name, state !== undefined && this.#isTooUnhealthy(state), this.#view.nowMs);
    }
  }

  /** A node with one policy was admitted for eviction. */
  check(policy: string, node: string): void {
    this.#checkUnhealthy(policy, node);
    this.#checkBudgets(policy, node);
    this.#checkBreaker(policy, node);
  }

  #checkUnhealthy(policy: string, node: string): void {
    const sinceMs = this.tooUnhealthy.of(policy);
    const { knownMs, nowMs } = this.#view;
    if (sinceMs === null || sinceMs > knownMs) return;
    throw new BrokenInvariant(`${node} was admitted ${nowMs - sinceMs} ms after policy ${policy} reached maxUnhealthy`);
  }

  #checkBudgets(policy: string, node: string): void {
    const { nowMs } = this.#view;
    const pool = this.#view.poolOf(node);
    const fromMs = nowMs - UNDER_WAY_MS - this.#view.skewMs;
    // By a clock that is ahead, a schedule is over earlier.
    const toMs = nowMs + (this.#view.isStamped ? 0 : this.#view.skewMs);
    const said = this.#view.said(policy, (state) => budgetMost(state, this.#view.sizeOf(pool), fromMs, toMs));
    const most = Math.max(...(said ?? [Infinity]));
    const admitted = this.#view.selected(pool).filter((each) => this.#view.isAdmitted(each)).length;
    if (admitted <= most) return;
    throw new BrokenInvariant(
      `${node} was admitted: ${admitted} nodes of policy ${policy}, whose budgets allow ${most}`,
    );
  }

  #checkBreaker(policy: string, node: string): void {
    const said = this.#view.said(policy, ({ breaker }) => breaker);
    if (said === null) return;
    const pool = this.#view.poolOf(node);
    const nodesMax = Math.max(...said.map((breaker) => breakerMost(breaker, this.#view.sizeOf(pool))));
    const durationMs = Math.min(...said.map((breaker) => breaker.durationMs));
    const found = this.admittedSince(policy, pool, this.#view.nowMs - durationMs + CLOCK_ERROR_MS);
    if (found.size <= nodesMax) return;
    throw new BrokenInvariant(
      `${found.size} nodes of policy ${policy} were admitted within ${durationMs} ms, not ${nodesMax}`,
    );
  }

  /**
   * Vigil marked a pod of a node not ready. If the breaker of a policy has `holdReadiness`, no pod of a silent node is
   * marked while more nodes have failed than the breaker allows. Only where nothing is slow, because a writer may retry
   * an older request.
   */
  marked(pod: string, node: string): void {
    const pool = this.#view.poolOf(node);
    const policy = this.#view.onlyPolicy(pool);
    const shown = this.#view.nodes.get(node);
    if (!this.#view.isExact || policy === null || shown === undefined) return;
    const said = this.#view.said(policy, ({ breaker }) => (breaker?.holdsReadiness === true ? breaker : null));
    if (said === null || conditionOf(shown, "Ready")?.status !== "Unknown") return;
    this.#view.run.count("pod of a silent node marked under a breaker that holds readiness");
    const most = Math.max(...said.map((breaker) => breakerMost(breaker, this.#view.sizeOf(pool))));
    const durationMs = Math.min(...said.map((breaker) => breaker.durationMs));
    const fromMs = this.#view.nowMs - durationMs + CLOCK_ERROR_MS + JUDGED_EARLIER_MS;
    const down = this.#view.selected(pool).filter(({ metadata }) => {
      const sinceMs = this.#downSince.of(metadata.name);
      return sinceMs !== null && sinceMs > fromMs && sinceMs < this.#view.knownMs;
    });
    if (down.length <= most) return;
    throw new BrokenInvariant(`${pod} was marked not ready: ${down.length} nodes of policy ${policy} are newly down`);
  }

  /** Records a change of a node. */
  node(node: CheckedNode, isGone: boolean): void {
    this.#downSince.note(node.metadata.name, !isGone && isDown(node), this.#view.nowMs);
  }

  /** The nodes that were admitted since an instant, but for those that Vigil may have forgotten. */
  admittedSince(policy: string, pool: string | undefined, fromMs: number): ReadonlySet<string> {
    const { admitted } = this.#view;
    const recent = admitted.filter((each) => each.pool === pool && each.atMs > fromMs && each.isLate !== true);
    return new Set(recent.filter((each) => !this.#mayBeForgotten(policy, each)).map(({ node }) => node));
  }

  /**
   * Whether a node had left a shorter window of the breaker, or there was none, and was healed before the present
   * window was known. A breaker that is added or gets a longer window counts the nodes that are still admitted, because
   * their taints show since when. Nothing shows the others, and in direct mode nothing shows any.
   */
  #mayBeForgotten(policy: string, { atMs, untilMs }: AdmittedNode): boolean {
    const { api, isDirect, nowMs, unknownMs } = this.#view;
    const snapshots = api.since(atMs);
    return snapshots.some(({ policies }, index) => {
      const endMs = Math.min(nowMs, (snapshots[index + 1]?.fromMs ?? nowMs) + unknownMs);
      const isShown = !isDirect && (untilMs ?? Infinity) > endMs;
      return !isShown && atMs <= endMs - (policies.get(policy)?.breaker?.durationMs ?? 0) + CLOCK_ERROR_MS;
    });
  }

  #isTooUnhealthy({ pool, maxUnhealthy }: PolicyState): boolean {
    if (maxUnhealthy === null) return false;
    const unhealthy = this.#view.selected(pool).filter(isDown).length;
    return unhealthy > allowed(maxUnhealthy, this.#view.sizeOf(pool), "down");
  }
}
