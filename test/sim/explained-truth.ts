/**
 * The true states of the nodes and pods of explanations, for as far back as a process may be behind. It shares no code
 * with the services and judges no sentence.
 */
import { type CheckedNode, type CheckedPod, conditionOf, taintName } from "./invariants.ts";

/** A pod with the fields that only explanations need. */
export interface ExplainedPod extends CheckedPod {
  readonly metadata: CheckedPod["metadata"] & {
    readonly deletionGracePeriodSeconds?: number;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** An object from some instant on; null while it does not exist. */
interface State<T> {
  readonly fromMs: number;
  readonly object: T | null;
}

/** No claim reaches further back than this. */
const KEPT_MS = 400_000;

/** The states of all objects of one kind; instants are on the world's wall clock. */
class States<T> {
  readonly #states = new Map<string, State<T>[]>();

  note(name: string, fromMs: number, object: T | null): void {
    const states = this.#states.get(name) ?? [{ fromMs: Number.NEGATIVE_INFINITY, object: null }];
    states.push({ fromMs, object });
    while ((states[1]?.fromMs ?? Number.POSITIVE_INFINITY) < fromMs - KEPT_MS) states.shift();
    this.#states.set(name, states);
  }

  /** The objects that are there now. */
  present(): T[] {
    return [...this.#states.values()].flatMap((states) => states.at(-1)?.object ?? []);
  }

  /** Every state since an instant, the one of that instant first. */
  since(name: string, fromMs: number): readonly (T | null)[] {
    const states = this.#states.get(name) ?? [{ fromMs: Number.NEGATIVE_INFINITY, object: null }];
    const first = states.findLastIndex((state) => state.fromMs <= fromMs);
    return states.slice(Math.max(0, first)).map(({ object }) => object);
  }
}

/** Everything that explanations may describe. */
export class ExplainedTruth {
  readonly nodes = new States<CheckedNode>();
  readonly pods = new States<ExplainedPod>();
  /** The outcomes that writers published, as `name outcome`. */
  readonly outcomes = new Set<string>();
  /** The names of nodes and pods that requests have named. */
  readonly requested = new Set<string>();
  /** The pods whose deletion Vigil brought about, by uid, and their names. */
  readonly #deleted = { uids: new Set<string>(), names: new Set<string>() };

  /** Notes that Vigil brought about the deletion of a pod. */
  deletedByVigil(name: string, uid: string): void {
    this.#deleted.uids.add(uid);
    this.#deleted.names.add(name);
  }

  /** Whether Vigil deleted a pod that has had a name since an instant or, where no pod has it, any that ever had it. */
  isVigils(name: string, fromMs: number): boolean {
    const states = this.pods.since(name, fromMs);
    const isAny = states.includes(null) && this.#deleted.names.has(name);
    return isAny || states.some((pod) => pod !== null && this.#deleted.uids.has(pod.metadata.uid));
  }
}

/** The NoExecute taints of a node by name. */
export function noExecuteNames(node: CheckedNode): string[] {
  return (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute").map(taintName);
}

/** The status of a node's Ready condition; null without one. */
export function readyOf(node: CheckedNode): string | null {
  return conditionOf(node, "Ready")?.status ?? null;
}
