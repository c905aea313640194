/**
 * Which pods of a node that is not ready must be marked not ready too. A silent kubelet cannot report its pods, so all
 * of them are marked until the API shows it. A live kubelet that reports Ready=False reports its own pods.
 */
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";

/** How many pods of a node are remembered; with more, those not shown are forgotten, and may be marked again. */
const KNOWN_MAX = 1_000;

/** The pods of a node while its kubelet reports Ready=False. */
export interface BoundPods {
  /** The pods as last published. */
  readonly pods: readonly ObservedPod[];
  /** The uids of all pods shown meanwhile: a list that lacks some, as an older one does, makes none of them new. */
  readonly known: ReadonlySet<string>;
  /** Those of them that were bound since then and have not been not ready yet. */
  readonly unmarked: ReadonlySet<string>;
}

/**
 * Tracks the pods bound to a node while its kubelet reports Ready=False: upstream checks each of them once, when it is
 * bound (R1.6, R3.11). Pods bound before then, or found at a start, belong to the kubelet: upstream skips them too
 * (R2.28, R3.9). Null while Ready has another status.
 */
export function boundWhileNotReady(
  before: BoundPods | null,
  node: Pick<ObservedNode, "conditions">,
  pods: readonly ObservedPod[] | null,
): BoundPods | null {
  if (readyConditionOf(node)?.status !== "False") return null;
  if (pods === null || pods === before?.pods) return before;
  const shown = pods.map(({ uid }) => uid);
  if (before === null) return { pods, known: new Set(shown), unmarked: new Set() };
  const known = before.known.size > KNOWN_MAX ? new Set(before.pods.map(({ uid }) => uid)) : before.known;
  const unmarked = new Set([...before.unmarked].filter((uid) => known.has(uid)));
  for (const { uid, ready } of pods) {
    if (ready === "False") unmarked.delete(uid);
    else if (!known.has(uid)) unmarked.add(uid);
  }
  return { pods, known: new Set([...known, ...shown]), unmarked };
}

/** The same without a pod that was marked: from now on its kubelet reports it. */
export function withoutMarked(bound: BoundPods | null, uid: string): BoundPods | null {
  if (bound === null || !bound.unmarked.has(uid)) return bound;
  return { ...bound, unmarked: new Set([...bound.unmarked].filter((each) => each !== uid)) };
}

/**
 * The pods whose Ready condition must become False. On an Unknown node these are all pods with another status, so a
 * mark that a crash prevented is requested again. On a node whose kubelet reports False they are the pods bound since,
 * each once, because a live kubelet may report Ready again. Pods without the condition stay untouched (R3.5), as do
 * pods that have False (R3.2).
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
