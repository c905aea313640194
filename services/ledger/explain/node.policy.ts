/** Why a node is as it is: its readiness, its taints, its zone, and what came of the last requests about it. */
import { SilentReason } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import { apiTime, epochMsOf } from "../../domain/api-time.ts";
import { listText, spanText } from "../../domain/format.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintStartAt } from "../../domain/taint-swap.ts";
import { taintName } from "../../domain/toleration.ts";
import type { NodeRecord } from "../cluster-state.ts";
import type { ExplainContext } from "./explain-context.ts";
import { queueSentences } from "./queue.policy.ts";
import { nodeRequestSentences, withoutStop } from "./request.policy.ts";
import { type Sentence, sentence } from "./sentences.ts";

type JudgedNode = NonNullable<NodeRecord["judged"]>;

/** What is said of a node that is there. */
export function nodeSentences(node: NodeRecord, context: ExplainContext): Sentence[] {
  const { judged, observed, name, requests } = node;
  const { gone } = requests;
  if (gone !== null) {
    const detail = withoutStop(gone.detail);
    return [sentence("nodeFoundGone", { node: name, at: apiTime(gone.at), detail })];
  }
  const blindness = context.blindness(name);
  const taints = observed === null ? [] : [taintSentence(observed)];
  const requested = nodeRequestSentences(requests.all, context);
  const blind = blindness === null ? [] : [sentence("nodeBlind", { why: blindness })];
  if (judged === null) return [sentence("nodeUnjudged", { node: name }), ...taints, ...requested, ...blind];
  const excluded = judged.counted ? [] : [sentence("nodeExcluded", {})];
  const turn = queueSentences(node, judged, context);
  return [readinessSentence(node, judged, context), ...taints, ...turn, ...requested, ...excluded, ...blind];
}

function readinessSentence(
  { name: node, observed }: NodeRecord,
  judged: JudgedNode,
  { profile, now }: ExplainContext,
): Sentence {
  const { readiness, since, heartbeatAt } = judged;
  const given = { node, since: apiTime(since), span: spanText(now - since) };
  switch (readiness) {
    case "unknown": {
      if (heartbeatAt === null) return unheardSentence(observed, given);
      const grace = spanText(profile.nodeMonitorGraceMs);
      return sentence("nodeUnknown", { ...given, heartbeat: apiTime(heartbeatAt), grace });
    }
    case "notReady":
      return sentence("nodeNotReady", given);
    case "ready":
      return sentence("nodeReady", given);
    case "starting":
      return sentence("nodeStarting", { ...given, grace: spanText(profile.nodeStartupGraceMs) });
  }
}

/** A judge that began after the node fell silent has heard nothing of it; the API still shows what came before. */
function unheardSentence(
  observed: ObservedNode | null,
  given: { readonly node: string; readonly since: string; readonly span: string },
): Sentence {
  const ready = observed === null ? null : readyConditionOf(observed);
  if (ready?.reason === SilentReason.never.reason) return sentence("nodeNeverPosted", given);
  if (ready?.reason !== SilentReason.stopped.reason || ready.heartbeatAt === null)
    return sentence("nodeUnknownNoHeartbeat", given);
  return sentence("nodeUnknownByStatus", { ...given, heartbeat: apiTime(ready.heartbeatAt) });
}

function taintSentence(node: ObservedNode): Sentence {
  if (node.taints.length === 0) return sentence("nodeUntainted", {});
  const standing = node.taints.map((taint) => taintName(taint) + sinceText(taint, node));
  const omitted = node.taintsOmitted ?? 0;
  const rest = omitted === 0 ? [] : [`${omitted} more taints, which Vigil ignores`];
  return sentence("nodeTainted", { taints: listText([...standing, ...rest]) });
}

function sinceText(taint: Taint, node: ObservedNode): string {
  const startAt = taintStartAt(taint, node);
  if (startAt === null) return "";
  const isStamped = taint.timeAdded === undefined || epochMsOf(taint.timeAdded) === startAt;
  return ` since ${apiTime(startAt)}${isStamped ? "" : ` (its timeAdded is ${taint.timeAdded})`}`;
}
