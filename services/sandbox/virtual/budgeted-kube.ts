/**
 * The port of shadow mode where disruption budgets refuse evictions, as the API server would while nothing else
 * changes: it goes on from the server's counts, and no new pod becomes ready.
 */
import type { ObservedPod } from "../../../protocols/objects.ts";
import type { WriteReply, WriteRequest } from "../../../protocols/ports.ts";
import { ShadowKube, type ShadowKubeIo } from "../../platform/kube/shadow/shadow-kube.ts";
import { answerOf, type CountedBudget, countsInBudgets } from "../apiserver/store/eviction.ts";

/** A budget, as the API server has counted it. */
export interface DisruptionBudget {
  /** As `namespace/name`. */
  readonly name: string;
  readonly counted: CountedBudget;
  /** The pods that it protects, by uid. */
  readonly pods: ReadonlyMap<string, ObservedPod>;
  /** The uids of those that count as healthy. */
  readonly healthy: ReadonlySet<string>;
}

/** How long a client waits after a refusal for which the API server names no time, in milliseconds. */
const REFUSED_MS = 1000;

/** The port of one process over a snapshot. */
export class BudgetedKube extends ShadowKube {
  /** What refused the eviction of a pod last, for people, by uid. */
  readonly refusals = new Map<string, string>();
  readonly #clock: ShadowKubeIo["clock"];
  readonly #budgets: readonly DisruptionBudget[];
  /** The pods that have ceased to be ready, or are deleted. */
  readonly #lost = new Set<string>();

  constructor(io: ShadowKubeIo, budgets: readonly DisruptionBudget[]) {
    super(io);
    this.#clock = io.clock;
    this.#budgets = budgets;
    io.bus.subscribe("done.write", "all", ({ body: { uid, podShadow } }) => {
      if (podShadow?.unreadyAt !== undefined) this.#lost.add(uid);
    });
  }

  override write(request: WriteRequest, done: (reply: WriteReply) => void): void {
    const disruptionBudget = request.verb === "evict" ? this.#refuse(request.uid) : null;
    if (disruptionBudget !== null) {
      const refusal = { outcome: "throttled", detail: disruptionBudget, retryAfterMs: REFUSED_MS } as const;
      this.#clock.soon(() => done({ ...refusal, disruptionBudget }));
      return;
    }
    if ((request.verb === "evict" || request.verb === "delete") && request.uid !== undefined) {
      this.#lost.add(request.uid);
    }
    super.write(request, done);
  }

  /** What refuses the eviction of a pod now, for people; null where it may go. */
  #refuse(uid: string): string | null {
    const [budget, ...others] = this.#budgets.filter(({ pods }) => pods.has(uid));
    const pod = budget?.pods.get(uid);
    if (budget === undefined || pod === undefined || !countsInBudgets(pod.phase, pod.deletionAt !== null)) return null;
    const isReady = pod.ready === "True" && !this.#lost.has(uid);
    if (others.length === 0 && answerOf(this.#countedNow(budget), isReady) !== "refuses") return null;
    // The Eviction API does not support a pod of several budgets.
    const refusal = others.length > 0 ? "more than one disruption budget" : `the disruption budget ${budget.name}`;
    this.refusals.set(uid, refusal);
    return refusal;
  }

  /** The counts of a budget without the pods that it has lost since. Counts that were not made yet let none go. */
  #countedNow({ counted, healthy }: DisruptionBudget): CountedBudget {
    const lost = [...healthy].filter((uid) => this.#lost.has(uid)).length;
    const spare = counted.healthy - counted.needed;
    const allowed = counted.allowed < spare ? 0 : spare;
    return { ...counted, healthy: counted.healthy - lost, allowed: allowed - lost };
  }
}
