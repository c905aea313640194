/**
 * The operator's ceiling on all policies together: however policies come, change and go, no more nodes than it allows
 * carry a NoExecute taint for a condition at once, and none gets one while its window is full. So no policy harms more
 * Ready nodes. Example: with a ceiling of two nodes in 60 s, a third node waits until one of the two has healed and the
 * first taint is 60 s old.
 */
import { CLOCK_ERROR_MS } from "../fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, conditionOf, isConditionTaint } from "../invariants.ts";
import type { PolicyView } from "./policy-view.ts";

/** A node that got such a taint. */
interface Tainted {
  readonly node: string;
  readonly atMs: number;
}

/** Follows the taints of all nodes. Instants are on the wall clock. */
export class CeilingChecks {
  readonly #view: PolicyView;
  #tainted: readonly Tainted[] = [];
  /** The largest number of nodes that there were at once. */
  #nodesMax = 0;

  constructor(view: PolicyView) {
    this.#view = view;
  }

  /** A node changed or is gone. */
  node(): void {
    this.#nodesMax = Math.max(this.#nodesMax, this.#view.nodes.size);
  }

  /** Vigil wrote to a node. */
  wrote(before: CheckedNode, after: CheckedNode): void {
    const { nowMs, run } = this.#view;
    if (carries(before) || !carries(after)) return;
    const isReady = conditionOf(after, "Ready")?.status === "True";
    run.count(isReady ? "Ready node tainted under the ceiling" : "node tainted under the ceiling");
    const { name } = after.metadata;
    this.#tainted = [...this.#tainted, { node: name, atMs: nowMs }];
    const carrying = [...this.#view.nodes.values()].filter((node) => carries(node) && node.metadata.name !== name);
    this.#check(name, carrying.length + 1, "carry NoExecute taints of policies");
    const { policyTaintedDurationMs } = this.#view.swarm.profile;
    const fromMs = nowMs - policyTaintedDurationMs + CLOCK_ERROR_MS;
    const recent = new Set(this.#tainted.filter(({ atMs }) => atMs > fromMs).map(({ node }) => node));
    this.#check(name, recent.size, `got NoExecute taints of policies within ${policyTaintedDurationMs} ms`);
  }

  #check(name: string, nodes: number, what: string): void {
    const { policyTaintedNodesMax, policyTaintedPercentageMax } = this.#view.swarm.profile;
    const share = policyTaintedPercentageMax === 0 ? Infinity : (this.#nodesMax * policyTaintedPercentageMax) / 100;
    const most = Math.min(policyTaintedNodesMax === 0 ? Infinity : policyTaintedNodesMax, Math.ceil(share));
    if (nodes === most) this.#view.run.count("ceiling on policies reached");
    if (nodes > most) throw new BrokenInvariant(`with ${name} ${nodes} nodes ${what}, not ${most}`);
  }
}

function carries({ spec }: CheckedNode): boolean {
  return spec?.taints?.some(isConditionTaint) === true;
}
