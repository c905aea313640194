/**
 * What disruption budgets answer to the evictions of a preview, as the API server would while nothing else changes: it
 * goes on from the server's counts, and no new pod becomes ready.
 */
import type { BoundPod } from "../../../protocols/ports.ts";
import type { DisruptionBudget } from "./disruption-budgets.ts";

/** The phases of pods that count in no budget. */
const UNCOUNTED: ReadonlySet<string> = new Set(["Pending", "Succeeded", "Failed"]);

/** The budgets of one preview. */
export class BudgetAnswers {
  readonly #budgets: readonly DisruptionBudget[];
  /** The pods that a budget protects, by uid. */
  readonly #pods: ReadonlyMap<string, BoundPod["pod"]>;
  readonly #unready = new Set<string>();
  readonly #gone = new Set<string>();
  /** How many of its healthy pods each budget has lost. */
  readonly #lost = new Map<DisruptionBudget, number>();
  /** What refused a pod last, by uid. */
  readonly #refusals = new Map<string, string>();

  constructor(budgets: readonly DisruptionBudget[], bound: readonly BoundPod[]) {
    this.#budgets = budgets;
    const selected = new Set(budgets.flatMap(({ pods }) => [...pods]));
    this.#pods = new Map(bound.flatMap(({ pod }) => (selected.has(pod.uid) ? [[pod.uid, pod]] : [])));
  }

  /** Whether any eviction has been refused. */
  get hasRefused(): boolean {
    return this.#refusals.size > 0;
  }

  /** Whether a budget protects a pod. */
  protects(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** The uids of the pods that each budget protects. */
  get protectedPods(): readonly ReadonlySet<string>[] {
    return this.#budgets.map(({ pods }) => pods);
  }

  /** What refused the eviction of a pod last, for people; null for nothing. */
  refusalOf(uid: string): string | null {
    return this.#refusals.get(uid) ?? null;
  }

  /** A pod is not ready from now on. */
  onUnready(uid: string): void {
    if (!this.#gone.has(uid) && !this.#unready.has(uid)) this.#lose(uid);
    this.#unready.add(uid);
  }

  /** A pod is deleted, by its eviction or otherwise. */
  onGone(uid: string): void {
    if (!this.#gone.has(uid) && !this.#unready.has(uid)) this.#lose(uid);
    this.#gone.add(uid);
  }

  /** What refuses the eviction of a pod now, for people; null where it may go. */
  refuse(uid: string): string | null {
    const pod = this.#pods.get(uid);
    if (pod === undefined || pod.deletionAt !== null || UNCOUNTED.has(pod.phase)) return null;
    const [budget, ...others] = this.#budgets.filter(({ pods }) => pods.has(uid));
    if (budget === undefined) return null;
    const isReady = pod.ready === "True" && !this.#unready.has(uid);
    if (others.length === 0 && this.#lets(budget, isReady)) return null;
    // The Eviction API does not support such a pod.
    const refusal = others.length > 0 ? "more than one disruption budget" : `the disruption budget ${budget.name}`;
    this.#refusals.set(uid, refusal);
    return refusal;
  }

  #lets(budget: DisruptionBudget, isReady: boolean): boolean {
    const { needed, isShut, freesUnready } = budget;
    const left = budget.healthyCount - (this.#lost.get(budget) ?? 0);
    if (!isReady && (freesUnready || (needed > 0 && left >= needed))) return true;
    return !isShut && left > needed;
  }

  #lose(uid: string): void {
    for (const budget of this.#budgets) {
      if (budget.healthy.has(uid)) this.#lost.set(budget, (this.#lost.get(budget) ?? 0) + 1);
    }
  }
}
