/**
 * Whether the countdown of a pod is over although no message said so. Its end is published once, so the pod would stay
 * due for minutes if that message is lost. Other things that a ledger knows show the end.
 */

import type { ObservedNode, TaintId } from "../../../protocols/objects.ts";
import { isSameTaint } from "../../domain/toleration.ts";
import type { NodeJudgement, NodeRecord } from "./cluster-state.ts";
import type { PodRecord } from "./pod-records.ts";
import { isRefuted } from "./present-freezes.policy.ts";
import type { StateSubscriber } from "./state-subscriber.ts";

/** What a ledger knows besides the record of a pod. */
type Known = Pick<StateSubscriber, "freezes" | "unknownReason">;

/** Whether the taint of a countdown, its node or its drain is gone, or the policies refute its judgement. */
export function isOver(
  record: PodRecord,
  node: Pick<NodeRecord, "observed" | "judged"> | undefined,
  { freezes, unknownReason }: Known,
): boolean {
  const observed = node?.observed ?? null;
  const decisive = (record.judged ?? record.asked)?.taint ?? null;
  if (observed === null && isOnGoneNode(record, unknownReason)) return true;
  if (record.asked?.mode === "direct" && isUndrained(node?.judged ?? null)) return true;
  return !isPresent(decisive, observed) || isRefuted(record, node, freezes);
}

/** Whether a node is not being drained: the drain that requested the deletion was cancelled, and another may come. */
function isUndrained(judged: NodeJudgement | null): boolean {
  return judged !== null && judged.eviction !== "evicted";
}

/** Whether the decisive taint is present; true where none decides and where the node was not observed. */
function isPresent(decisive: TaintId | null, node: ObservedNode | null): boolean {
  if (decisive === null || node === null) return true;
  return node.taints.some((taint) => isSameTaint(taint, decisive));
}

/** Whether a node that is not observed is known to have left. This ends a countdown before the request for the pod. */
function isOnGoneNode({ judged, asked, last }: PodRecord, unknownReason: Known["unknownReason"]): boolean {
  return judged !== null && asked === null && last === null && unknownReason(judged.node) === null;
}
