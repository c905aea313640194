/**
 * Which pods of a node that is not ready are to be marked not ready too. A kubelet that has fallen silent cannot say
 * so of its pods: they are marked until they show it. A kubelet that lives and reports Ready=False says it itself.
 */
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";

/** What is remembered of the pods of a node while its kubelet reports Ready=False. */
export interface BoundPods {
  /** The pods as they were published last. */
  readonly pods: readonly ObservedPod[];
  /** The uids of those that were bound in that time and have not been not ready since. */
  readonly unmarked: ReadonlySet<string>;
}

/**
 * Remembers which pods are bound to a node while its kubelet reports Ready=False: upstream looks at each of them once,
 * when it is bound (R1.6, R3.11). Pods that are there when that begins, or at a start, are the kubelet's own, as
 * upstream passes over them too (R2.28, R3.9). Null while Ready is anything else.
 */
export function boundWhileNotReady(
  before: BoundPods | null,
  node: Pick<ObservedNode, "conditions">,
  pods: readonly ObservedPod[] | null,
): BoundPods | null {
  if (readyConditionOf(node)?.status !== "False") return null;
  if (pods === null || pods === before?.pods) return before;
  if (before === null) return { pods, unmarked: new Set() };
  const known = new Set(before.pods.map(({ uid }) => uid));
  const unmarked = pods.filter(({ uid, ready }) => ready !== "False" && (before.unmarked.has(uid) || !known.has(uid)));
  return { pods, unmarked: new Set(unmarked.map(({ uid }) => uid)) };
}

/** The same without a pod that was marked: its kubelet is believed from now on. */
export function withoutMarked(bound: BoundPods | null, uid: string): BoundPods | null {
  if (bound === null || !bound.unmarked.has(uid)) return bound;
  return { pods: bound.pods, unmarked: new Set([...bound.unmarked].filter((each) => each !== uid)) };
}

/**
 * The pods whose Ready condition is to become False. On an Unknown node all that still have another one, so that
 * nothing a crash left undone stays undone. On a node whose kubelet reports False only those that were bound
 * meanwhile, each of them once: a kubelet that lives may say Ready again and is believed. A pod without the
 * condition is left alone (R3.5), one that has False is done (R3.2).
 */
export function podsToMarkUnready(
  node: Pick<ObservedNode, "conditions">,
  pods: readonly ObservedPod[],
  bound: BoundPods | null,
): readonly ObservedPod[] {
  const ready = readyConditionOf(node);
  if (ready === null || ready.status === "True") return [];
  const candidates = pods.filter((pod) => pod.ready !== null && pod.ready !== "False");
  return ready.status === "Unknown" ? candidates : candidates.filter(({ uid }) => bound?.unmarked.has(uid) === true);
}
