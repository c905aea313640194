/** Decides when the condition DisruptionTarget of a pod that stays is taken back, and builds the patch. */
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { evictionOf, noExecuteTaints, type TolerationRules } from "../domain/toleration.ts";
import { listOf, recordOf } from "../structures/json.ts";
import { DISRUPTION_TARGET, type LivePod, type StatusPatch } from "./pod-writer.policy.ts";

/** Whether no taint of its node evicts a pod, now or later. */
export function isCalledOff(node: ObservedNode, pod: ObservedPod, rules: TolerationRules): boolean {
  const taints = noExecuteTaints(node.taints).map((taint) => ({ taint, since: 0 }));
  return evictionOf(taints, pod.tolerations, 0, rules) === null;
}

/** Sets Vigil's own mark to False, in this version of the pod. Null if there is none, or the pod is terminating. */
export function markTakenBack({ pod, resourceVersion, object }: LivePod, now: string): StatusPatch | null {
  const { type, status, reason } = DISRUPTION_TARGET;
  const conditions = listOf(recordOf(object.status).conditions).map(recordOf);
  const isMarked = conditions.some((each) => each.type === type && each.status === status && each.reason === reason);
  if (!isMarked || pod.deletionAt !== null) return null;
  const message = "Taint manager: the eviction was called off";
  const condition = { type, status: "False", reason, message, lastTransitionTime: now };
  return { metadata: { uid: pod.uid, resourceVersion }, status: { conditions: [condition] } };
}
