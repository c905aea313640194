/** What the simulated API has shown of every node, for a few minutes back. It judges nothing. */
import { type CheckedNode, conditionOf, isPaced, zoneOf } from "./invariants.ts";

/** What the API showed of a node from some instant on; no zone while the node did not exist. */
export interface NodeState {
  readonly fromMs: number;
  readonly zone: string | null;
  readonly uid: string;
  /** Status of the Ready condition; null without one. */
  readonly ready: string | null;
  /** Whether one of the taints that zones grant was on it. */
  readonly isTainted: boolean;
}

/** No view is older than this, not even that of a process that was suspended for ten minutes. */
const KEPT_MS = 900_000;

/** The states of all nodes; instants are on the world's wall clock. */
export class NodeStates {
  readonly #states = new Map<string, NodeState[]>();

  /** Records a node's new state. */
  note(node: CheckedNode, isGone: boolean, fromMs: number): void {
    const { name, uid, labels } = node.metadata;
    const known = this.#states.get(name) ?? [];
    const state: NodeState = {
      fromMs,
      zone: isGone ? null : zoneOf(labels),
      uid,
      ready: conditionOf(node, "Ready")?.status ?? null,
      isTainted: node.spec?.taints?.some(isPaced) === true,
    };
    const last = known.at(-1);
    if (last !== undefined && isSame(last, state)) return;
    known.push(state);
    while ((known[1]?.fromMs ?? Number.POSITIVE_INFINITY) < fromMs - KEPT_MS) known.shift();
    this.#states.set(name, known);
  }

  /** The names of all nodes that ever existed. */
  names(): Iterable<string> {
    return this.#states.keys();
  }

  /** The present states of the nodes that exist. */
  *present(): Generator<NodeState & { readonly zone: string }> {
    for (const states of this.#states.values()) {
      const state = states.at(-1);
      if (state !== undefined && state.zone !== null) yield { ...state, zone: state.zone };
    }
  }

  /** The present state of a node; null when it never existed. */
  now(name: string): NodeState | null {
    return this.#states.get(name)?.at(-1) ?? null;
  }

  /** All states of a node since an instant, the one at that instant first. */
  since(name: string, fromMs: number): readonly NodeState[] {
    const states = this.#states.get(name) ?? [];
    const first = states.findLastIndex((state) => state.fromMs <= fromMs);
    return states.slice(Math.max(0, first));
  }

  /** Whether a node did not exist yet at an instant. */
  wasUnborn(name: string, atMs: number): boolean {
    return (this.#states.get(name)?.[0]?.fromMs ?? Number.POSITIVE_INFINITY) > atMs;
  }
}

function isSame(left: NodeState, right: NodeState): boolean {
  return (
    left.zone === right.zone &&
    left.uid === right.uid &&
    left.ready === right.ready &&
    left.isTainted === right.isTainted
  );
}
