/** Sentences about a node: its readiness, its taints, its zone, and the outcomes of the last requests for it. */
import { SilentReason, TaintEffect } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import type { ContestedLease } from "../../../protocols/observed.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { apiTime, epochMsOf } from "../../domain/api-time.ts";
import { formatDuration } from "../../domain/duration.ts";
import { listText, namedList, policyText, spanText } from "../../domain/format.ts";
import { conditionText } from "../../domain/judgement.ts";
import { readinessBreakersOf } from "../../domain/limited-policies.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintStartAt } from "../../domain/taint-swap.ts";
import { taintName } from "../../domain/toleration.ts";
import type { NodeJudgement, NodeRecord } from "../state/cluster-state.ts";
import { isRecent } from "../state/waiting-nodes.policy.ts";
import { type ExplainContext, freezeSentences, isOutdated, leasePathSentences, UNDATED } from "./explain-context.ts";
import { outOfServiceSentences } from "./out-of-service.policy.ts";
import { limiterText, queueSentences } from "./queue.policy.ts";
import { remediationSentences } from "./remediation.policy.ts";
import { detailText, nodeRequestSentences } from "./request.policy.ts";
import { type Sentence, sentence } from "./sentences.ts";

type Graces = Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs">;

/** The sentences about a node that exists, as far as the watch shows. */
export function nodeSentences(node: NodeRecord, context: ExplainContext): Sentence[] {
  const { judged, observed, name, requests } = node;
  const { gone } = requests;
  if (gone !== null) {
    const detail = detailText(gone.detail, context);
    return [sentence("nodeFoundGone", { node: name, at: apiTime(gone.at), detail })];
  }
  const blindness = context.blindness(name);
  const taints = observed === null ? [] : taintSentences(observed);
  const requested = [...verdictSentences(observed), ...nodeRequestSentences(requests.all, context)];
  const contest = contestSentences(context.contestedLease(name));
  const blind = blindness === null ? [] : [sentence("nodeBlind", { why: blindness })];
  const unknown = observed === null || context.isPolicyKnown(observed) ? [] : [sentence("nodePolicyUnknown", {})];
  if (judged === null)
    return [sentence("nodeUnjudged", { node: name }), ...taints, ...unknown, ...contest, ...requested, ...blind];
  const excluded = judged.counted ? [] : [sentence("nodeExcluded", {})];
  // Its policy decides what freezes and remediates it, independent of the process that judges it now.
  const isNow = !isOutdated(node, context);
  const queue = [
    ...(isNow ? presentPolicySentences(judged, context) : []),
    ...queueSentences(node, judged, context),
    ...remediationSentences(node, context),
    ...(isNow ? outOfServiceSentences(node, context) : []),
  ];
  const selecting = [
    ...conflictSentences(judged),
    ...freezeSentences("node", context.freezes.reportOf(judged), context),
  ];
  const readiness = isNow ? readinessSentence(node, judged, context) : outdatedSentence(node, judged);
  const isDown = judged.readiness === "unknown" || judged.readiness === "notReady";
  const left = context.isShadow && isDown ? [sentence("nodeLeftToOthers", {})] : [];
  const silence = judged.readiness === "unknown" ? leasePathSentences(context) : [];
  return [
    readiness,
    ...silence,
    ...contest,
    ...taints,
    ...unknown,
    ...selecting,
    ...queue,
    ...requested,
    ...left,
    ...excluded,
    ...blind,
  ];
}

/** What its policy does about it now. */
function presentPolicySentences(judged: NodeJudgement, context: ExplainContext): Sentence[] {
  return [
    ...delayedTaintSentences(judged),
    ...delaySentences(judged, context),
    ...readinessBreakerSentences(judged, context),
    ...(judged.conditions ?? []).map(conditionSentence),
  ];
}

/** That another client than its kubelet may renew its lease. */
function contestSentences(contest: ContestedLease | null): Sentence[] {
  const { ownerUid, holders } = contest ?? {};
  return [
    ...(ownerUid === undefined ? [] : [sentence("nodeLeaseForeign", { uid: ownerUid })]),
    ...(holders === undefined ? [] : [sentence("nodeLeaseShared", { holders: listText(holders) })]),
  ];
}

function conflictSentences({ conflict = [] }: NodeJudgement): Sentence[] {
  if (conflict.length === 0) return [];
  return [sentence("nodeConflict", { policies: namedList(conflict.map(policyText)) })];
}

function delayedTaintSentences({ taintHold }: NodeJudgement): Sentence[] {
  if (taintHold === undefined) return [];
  return [sentence("nodeTaintHeld", { field: taintHold.field, at: apiTime(taintHold.untilAt) })];
}

/** How long its kubelet still has to report Ready=False before it waits for eviction. */
function delaySentences({ unhealthyDelay, policy, since }: NodeJudgement, context: ExplainContext): Sentence[] {
  if (unhealthyDelay === undefined || policy === undefined || unhealthyDelay.untilAt <= context.now) return [];
  const delayMs = context.policyNamed(policy)?.unhealthyDelayMs ?? null;
  if (delayMs === null) return [];
  const values = { at: apiTime(unhealthyDelay.untilAt), span: spanText(context.now - since) };
  return [sentence("nodeDelayed", { ...values, delay: formatDuration(delayMs), policy })];
}

/** Which open breakers keep the pods of a silent node from being marked not ready. */
function readinessBreakerSentences({ readiness, policy }: NodeJudgement, context: ExplainContext): Sentence[] {
  if (readiness !== "unknown") return [];
  const { state, profile, policyNamed, now } = context;
  const breakers = readinessBreakersOf(policy === undefined ? null : policyNamed(policy), profile);
  return breakers.flatMap((name) => {
    const record = state.limits.get(name);
    const whose = limiterText(name);
    if (record === undefined || !isRecent(record, now)) return [sentence("nodeReadinessUnknown", { whose })];
    const { trippedAt, resetAt } = record.judged.memory;
    if (trippedAt === null) return [];
    if (resetAt === null) return [sentence("nodeReadinessHeld", { whose })];
    return [sentence("nodeReadinessHeldUntil", { whose, at: apiTime(resetAt) })];
  });
}

function conditionSentence(judged: NonNullable<NodeJudgement["conditions"]>[number]): Sentence {
  const values = { condition: conditionText(judged), taint: taintName(judged.taint) };
  const since = judged.since === undefined ? UNDATED : apiTime(judged.since);
  const at = judged.untilAt === undefined ? null : apiTime(judged.untilAt);
  switch (judged.state) {
    case "waiting":
      if (at === null) return sentence("nodeConditionUnrecorded", { ...values, since });
      return sentence("nodeConditionWaits", { ...values, since, at });
    case "due":
    case "tainted":
      return sentence("nodeConditionCalls", { ...values, since });
    case "healing":
      return sentence("nodeConditionHeals", { ...values, since, at: at ?? UNDATED });
    case "missing":
      return sentence("nodeConditionMissing", values);
    case "left":
      return sentence("nodeConditionLeft", values);
  }
}

function outdatedSentence({ name: node, judgedAt, observed }: NodeRecord, { readiness }: NodeJudgement): Sentence {
  const ready = observed === null ? null : readyConditionOf(observed);
  const shown = ready === null ? "no Ready condition" : `Ready=${ready.status}`;
  const was = readiness === "notReady" ? "NotReady" : readiness;
  return sentence("nodeOutdated", { node, readiness: was, at: apiTime(judgedAt ?? 0), shown });
}

function readinessSentence(
  { name: node, observed }: NodeRecord,
  judged: NodeJudgement,
  context: ExplainContext,
): Sentence {
  const { readiness, since, heartbeatAt } = judged;
  const { now } = context;
  const values = { node, since: apiTime(since), span: spanText(now - since) };
  switch (readiness) {
    case "unknown": {
      if (heartbeatAt === null) return noHeartbeatSentence(observed, values);
      const grace = graceText("nodeMonitorGraceMs", judged, context);
      return sentence("nodeUnknown", { ...values, heartbeat: apiTime(heartbeatAt), grace });
    }
    case "notReady":
      return sentence("nodeNotReady", values);
    case "ready":
      return sentence("nodeReady", values);
    case "starting":
      return sentence("nodeStarting", { ...values, grace: graceText("nodeStartupGraceMs", judged, context) });
  }
}

/** A grace of the node: that of its policy, else that of the flag. */
function graceText(grace: keyof Graces, { policy }: NodeJudgement, { profile, policyNamed }: ExplainContext): string {
  const graces = policy === undefined ? null : policyNamed(policy);
  return spanText(graces?.[grace] ?? profile[grace]);
}

/** A process that started after the node's last heartbeat knows none, but the API may show it. */
function noHeartbeatSentence(
  observed: ObservedNode | null,
  values: { readonly node: string; readonly since: string; readonly span: string },
): Sentence {
  const ready = observed === null ? null : readyConditionOf(observed);
  if (ready?.reason === SilentReason.never.reason) return sentence("nodeNeverPosted", values);
  if (ready?.reason !== SilentReason.stopped.reason || ready.heartbeatAt === null)
    return sentence("nodeUnknownNoHeartbeat", values);
  return sentence("nodeUnknownByStatus", { ...values, heartbeat: apiTime(ready.heartbeatAt) });
}

/** The NoExecute taints that the node carries, and in shadow mode those that it would carry and would not. */
function taintSentences(node: ObservedNode): Sentence[] {
  const { taints, shadow, taintsOmitted: omitted = 0 } = node;
  const added = new Set(shadow?.added?.map(taintName));
  const removed = (shadow?.removed ?? []).filter(({ effect }) => effect === TaintEffect.noExecute);
  const unsent = taints.filter((taint) => added.has(taintName(taint)));
  const real = [...taints.filter((taint) => !added.has(taintName(taint))), ...removed];
  const textOf = (taint: Taint): string => taintName(taint) + sinceText(taint, node);
  const rest = omitted === 0 ? [] : [`${omitted} more taints, which Vigil ignores`];
  return [
    real.length === 0
      ? sentence("nodeUntainted", {})
      : sentence("nodeTainted", { taints: listText([...real.map(textOf), ...rest]) }),
    ...(removed.length === 0 ? [] : [sentence("nodeTaintRemoved", { taints: listText(removed.map(taintName)) })]),
    ...(unsent.length === 0 ? [] : [sentence("nodeTainted", { taints: listText(unsent.map(textOf)) }, true)]),
  ];
}

/** The verdict that shadow mode has not written. */
function verdictSentences(node: ObservedNode | null): Sentence[] {
  const verdict = node?.shadow?.verdict;
  return verdict === undefined ? [] : [sentence("requestShadowed", { what: "Ready=Unknown", at: apiTime(verdict.at) })];
}

function sinceText(taint: Taint, node: ObservedNode): string {
  const startAt = taintStartAt(taint, node);
  if (startAt === null) return "";
  const isStamped = taint.timeAdded === undefined || epochMsOf(taint.timeAdded) === startAt;
  return ` since ${apiTime(startAt)}${isStamped ? "" : ` (its timeAdded is ${taint.timeAdded})`}`;
}
