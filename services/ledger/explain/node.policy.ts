/** Why a node is as it is: its readiness, its taints, its zone, and what came of the last requests about it. */
import { SilentReason } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import { apiTime, epochMsOf } from "../../domain/api-time.ts";
import { listText, spanText } from "../../domain/format.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintStartAt } from "../../domain/taint-swap.ts";
import { taintName } from "../../domain/toleration.ts";
import type { NodeFacts } from "../facts.ts";
import type { Grounds } from "./grounds.ts";
import { nodeRequestSentences } from "./request.policy.ts";
import { type Sentence, say } from "./sentences.ts";
import { turnSentences } from "./turn.policy.ts";

type JudgedNode = NonNullable<NodeFacts["judged"]>;

/** What is said of a node that is there. */
export function nodeSentences(node: NodeFacts, grounds: Grounds): Sentence[] {
  const { judged, observed, name, requests } = node;
  const blindness = grounds.blindness(name);
  const taints = observed === null ? [] : [taintSentence(observed)];
  const requested = nodeRequestSentences(requests.all, grounds);
  const blind = blindness === null ? [] : [say("nodeBlind", { why: blindness })];
  if (judged === null) return [say("nodeUnjudged", { node: name }), ...taints, ...requested, ...blind];
  const excluded = judged.counted ? [] : [say("nodeExcluded", {})];
  const turn = turnSentences(node, judged, grounds);
  return [readinessSentence(node, judged, grounds), ...taints, ...turn, ...requested, ...excluded, ...blind];
}

function readinessSentence(
  { name: node, observed }: NodeFacts,
  judged: JudgedNode,
  { profile, now }: Grounds,
): Sentence {
  const { readiness, since, heartbeatAt } = judged;
  const given = { node, since: apiTime(since), span: spanText(now - since) };
  switch (readiness) {
    case "unknown": {
      if (heartbeatAt === null) return unheardSentence(observed, given);
      const grace = spanText(profile.nodeMonitorGraceMs);
      return say("nodeUnknown", { ...given, heartbeat: apiTime(heartbeatAt), grace });
    }
    case "notReady":
      return say("nodeNotReady", given);
    case "ready":
      return say("nodeReady", given);
    case "starting":
      return say("nodeStarting", { ...given, grace: spanText(profile.nodeStartupGraceMs) });
  }
}

/** A judge that began after the node fell silent has heard nothing of it; the API still shows what came before. */
function unheardSentence(
  observed: ObservedNode | null,
  given: { readonly node: string; readonly since: string; readonly span: string },
): Sentence {
  const ready = observed === null ? null : readyConditionOf(observed);
  if (ready?.reason === SilentReason.never.reason) return say("nodeNeverPosted", given);
  if (ready?.reason !== SilentReason.stopped.reason || ready.heartbeatAt === null)
    return say("nodeUnknownUnheard", given);
  return say("nodeUnknownByStatus", { ...given, heartbeat: apiTime(ready.heartbeatAt) });
}

function taintSentence(node: ObservedNode): Sentence {
  if (node.taints.length === 0) return say("nodeUntainted", {});
  const standing = node.taints.map((taint) => taintName(taint) + sinceText(taint, node));
  const omitted = node.taintsOmitted ?? 0;
  const rest = omitted === 0 ? [] : [`${omitted} more taints, on which nothing is decided`];
  return say("nodeTainted", { taints: listText([...standing, ...rest]) });
}

function sinceText(taint: Taint, node: ObservedNode): string {
  const startAt = taintStartAt(taint, node);
  if (startAt === null) return "";
  const isStamped = taint.timeAdded === undefined || epochMsOf(taint.timeAdded) === startAt;
  return ` since ${apiTime(startAt)}${isStamped ? "" : ` (its timeAdded says ${taint.timeAdded})`}`;
}
