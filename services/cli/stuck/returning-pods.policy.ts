/**
 * Pods that a NoExecute taint cannot remove from their node, because something creates them there again: the mirror of
 * a static pod, and pods whose owner ignores the taint. Deleting them does not free the node. Pure.
 */
import type { BoundPod } from "../../../protocols/ports.ts";
import { evictionOf, hasCompleted, taintName } from "../../domain/toleration.ts";
import { type NodeSituation, nodeStateOf, type StuckHold, type StuckPod } from "./stuck-pods.policy.ts";

/** A toleration whose operator the server may not know counts as one: explain says what is known of it. */
const RULES = { comparisonOperators: true };

/** A pod that comes back to its node; null for one that a deletion removes from it, or that may stay. */
export function returningPodOf(
  { node, pod }: BoundPod,
  facts: NodeSituation | undefined,
  nowAt: number,
): StuckPod | null {
  if (facts === undefined || pod.deletionAt !== null || hasCompleted(pod)) return null;
  const present = facts.evicting.filter(({ since }) => since <= nowAt);
  const eviction = evictionOf(present, pod.tolerations, pod.boundAt, RULES);
  if (eviction === null) return null;
  const taint = taintName(eviction.taint);
  const taintedAt = Math.min(...present.map(({ since }) => since));
  const { namespace, name, uid } = pod;
  const hold = pod.mirror === true ? mirrorHold(name, taint) : ownerHold(pod.owner ?? "owner", taint);
  const sinceAt = Math.max(eviction.at, taintedAt);
  // The scheduler binds a pod to a tainted node only if the pod tolerates the taint, for ever or for some seconds.
  const isForced = eviction.tolerationSeconds === null && pod.ownerUid !== undefined && pod.createdAt > taintedAt;
  if (pod.mirror === true ? sinceAt >= nowAt : !isForced) return null;
  const state = { nodeState: nodeStateOf(facts), nodeSince: facts.since };
  return {
    namespace,
    name,
    uid,
    node,
    graceEndedAt: null,
    stuckSince: Math.min(sinceAt, nowAt),
    ...state,
    holds: [hold],
  };
}

function mirrorHold(name: string, taint: string): StuckHold {
  const why = `it mirrors a static pod, which its kubelet creates again despite ${taint}`;
  const releasedBy = `the removal of its manifest from the node, or a toleration of ${taint}`;
  return { kind: "StaticPod", name, why, releasedBy };
}

function ownerHold(owner: string, taint: string): StuckHold {
  const why = `its ${owner} created it on the node after ${taint}, which it does not tolerate`;
  return { kind: "Owner", name: owner, why, releasedBy: `a toleration of ${taint}, or a template that names no node` };
}
