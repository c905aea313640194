/** Sentences about a pod: from the pod as it was just read, the record of its uid, and the state of its node. */
import type { FrozenEviction, WaitingEviction } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import { LIMITS_LEASE } from "../../../protocols/names.ts";
import type { ObservedNode, ObservedPod, Taint, TaintId } from "../../../protocols/objects.ts";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import { API_TIME_STEP_MS, apiTime } from "../../domain/api-time.ts";
import { countdownText, listText, spanText } from "../../domain/format.ts";
import { POLICY_UNKNOWN } from "../../domain/freeze.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { countdownStartAt, mergedIntervals } from "../../domain/paused-time/frozen-time.ts";
import type { PausedTime } from "../../domain/paused-time/outages.ts";
import { lineageOf, taintStartAt } from "../../domain/taint-swap.ts";
import {
  bindingAt,
  type CountedTaint,
  type Eviction,
  evictionOf,
  hasCompleted,
  isSwappable,
  noExecuteTaints,
  taintName,
  type UnreadableToleration,
  unreadableText,
  unreadableTolerationOf,
} from "../../domain/toleration.ts";
import type { NodeRecord } from "../state/cluster-state.ts";
import { isOver } from "../state/countdown-end.policy.ts";
import type { TrackedRequest } from "../state/node-requests.ts";
import { type PodRecord, targetOf } from "../state/pod-records.ts";
import { frozenEviction, isBeforeFreeze, isInOutage } from "../state/present-freezes.policy.ts";
import { waitingEviction } from "../state/waiting-evictions.policy.ts";
import { type ExplainContext, presentJudgement, presentNode } from "./explain-context.ts";
import type { PodRead } from "./live-pods.ts";
import { outageSentence, outageSentences, presentStart } from "./outage.policy.ts";
import { failureSentences, requestSentences } from "./request.policy.ts";
import { type Sentence, sentence } from "./sentences.ts";

type PresentPod = Extract<PodRead, { kind: "present" }>;

type BoundPod = NonNullable<PresentPod["bound"]>;

interface PodSentences {
  readonly sentences: readonly Sentence[];
  readonly node: string | null;
}

/** The sentences about a pod, and its node, null without one; `pod` is its `namespace/name`, `named` the last record of that name. */
export function podSentences(
  pod: string,
  read: PodRead,
  named: PodRecord | undefined,
  context: ExplainContext,
): PodSentences {
  if (read.kind === "present") return presentPodSentences(pod, read, context.state.pods.get(read.uid), context);
  if (read.kind === "absent")
    return { sentences: [sentence("podGone", { pod }), ...deletedByUsSentences(named)], node: null };
  const unread = sentence("podUnread", { pod, why: read.why.replace(/\.$/, "") });
  const node = named === undefined ? null : (targetOf(named)?.node ?? null);
  const known = named === undefined ? [] : recordSentences(pod, named, context);
  const about = known.length === 0 ? sentence("podUnnamed", { pod }) : sentence("podLastKnown", {});
  return { sentences: [unread, about, ...known], node };
}

function presentPodSentences(
  pod: string,
  read: PresentPod,
  record: PodRecord | undefined,
  context: ExplainContext,
): PodSentences {
  const { bound, terminatingSince } = read;
  const node = bound?.node ?? null;
  if (terminatingSince !== null) {
    const span = spanText(context.now - terminatingSince);
    const terminating = sentence("podTerminating", { pod, since: apiTime(terminatingSince), span });
    const ours = deletedByUsSentences(record);
    const by = ours.length > 0 ? ours : disruptionSentences(read);
    return { sentences: [terminating, ...by, ...stayingSentences(read, context)], node };
  }
  if (bound === null) return { sentences: [sentence("podUnbound", { pod })], node };
  const isJudged = record !== undefined && record.order !== "done" && !isAboutEarlierPod(record, bound, context);
  const isScheduled = isJudged && !isTolerated(bound, context);
  const scheduled = isScheduled ? recordSentences(pod, record, context) : [];
  if (scheduled.length > 0) return { sentences: scheduled, node };
  const ended = hasCompleted(bound.pod) ? disruptionSentences(read) : [];
  return { sentences: [...notEvictedSentences(pod, bound, context), ...ended], node };
}

function disruptionSentences({ disruption }: PresentPod): Sentence[] {
  return disruption === null ? [] : [sentence("podDisrupted", { reason: disruption.reason, who: disruption.who })];
}

/** Whether the pod may stay despite its record: it has completed, tolerates all taints, or its drain is cancelled. */
function isTolerated({ node, pod }: BoundPod, context: ExplainContext): boolean {
  const known = presentNode(node, context);
  if (context.profile.evictionMode === "direct") return known?.judged?.eviction === "unmarked";
  const observed = known?.observed ?? null;
  return hasCompleted(pod) || (observed !== null && evictionFrom(observed, pod, context) === null);
}

/**
 * Whether the record is of the pod before its tolerations were changed: it tolerates the taint that decided then for
 * longer now. Where a watch is silent, the taint-manager learns it a minute and a half later.
 */
function isAboutEarlierPod({ judged }: PodRecord, { node, pod }: BoundPod, context: ExplainContext): boolean {
  const decisive = judged?.taint ?? null;
  if (judged === null || decisive === null || judged.toleratedTaint !== undefined) return false;
  const taints = presentNode(node, context)?.observed?.taints ?? [];
  const taint = noExecuteTaints(taints).find((each) => taintName(each) === taintName(decisive));
  if (taint === undefined) return false;
  const present = evictionUnder([{ taint, since: context.now }], pod, context);
  const judgedSeconds = judged.tolerationSeconds ?? Number.NEGATIVE_INFINITY;
  return present === null || (present.tolerationSeconds ?? Number.NEGATIVE_INFINITY) > judgedSeconds;
}

function deletedByUsSentences(record: PodRecord | undefined): Sentence[] {
  const isOurs = record?.order === "done" && record.last?.outcome === "ok";
  return isOurs && record.last !== null ? [sentence("podOurs", { at: apiTime(record.last.at) })] : [];
}

/** Why a terminating pod still exists. */
function stayingSentences({ bound, finalizers }: PresentPod, context: ExplainContext): Sentence[] {
  const waiting = finalizers.length === 0 ? [] : [sentence("podFinalizers", { finalizers: listText(finalizers) })];
  if (bound === null) return waiting;
  const { node } = bound;
  const known = presentNode(node, context);
  if (known === undefined) return [...waiting, absentNodeSentence(node, context)];
  if (presentJudgement(known, context)?.readiness === "unknown")
    return [...waiting, sentence("podNodeSilent", { node })];
  return waiting.length > 0 ? waiting : [sentence("podEnding", { node })];
}

function absentNodeSentence(node: string, { unknownReason }: ExplainContext): Sentence {
  const why = unknownReason(node);
  return why === null ? sentence("podNodeGone", { node }) : sentence("podUnobserved", { node, why });
}

/** When and why a pod is deleted, and the outcome of the last request; nothing where it is not. */
function recordSentences(pod: string, record: PodRecord, context: ExplainContext): Sentence[] {
  const { judged, asked, order, outcome } = record;
  if (order === "done") return deletedByUsSentences(record);
  if (judged === null && asked === null) return [];
  // A pod that must leave at once is due since its judgement; each request for it has a new deadline.
  const deadlineAt = judged?.deadlineAt ?? asked?.deadlineAt ?? null;
  const node = presentNode(judged?.node ?? asked?.node ?? "", context);
  if (isOver(record, node, context)) return [];
  const why = judged === null ? requestReasons(asked, node) : tolerationReasons(judged, node, context);
  const frozen = frozenEviction(judged, node, context.freezes);
  if (frozen !== null) {
    const target = { pod, node: judged?.node ?? asked?.node ?? "" };
    return [frozenSentence(target, frozen, deadlineAt, context), ...why];
  }
  if (isBeforeFreeze(judged, node, context.freezes)) return [sentence("podFreezeAhead", { pod }), ...why];
  if (judged?.outage !== undefined && isInOutage(judged)) {
    // The judgement that came after the outage was lost: what the node shows says more.
    return context.isHeardAfter(record.publishedAt) ? [] : [outageSentence(pod, judged.outage), ...why];
  }
  why.push(...outageSentences(judged, node?.observed ?? null, context));
  const due = dueSentence(pod, deadlineAt, context);
  const waits = waitingEviction(record, { ...context, evictions: context.state.evictions });
  if (waits !== null) {
    return [due, ...why, ...failureSentences(deletionOf(record, context), context), waitingSentence(waits, context)];
  }
  if (judged?.recreated !== undefined && judged.recreated.nextAt > context.now) {
    return [due, ...why, recreatedSentence(judged, judged.recreated)];
  }
  const isDue = deadlineAt === null || deadlineAt <= context.now || outcome === "shadowed";
  return [due, ...clockSentences(deadlineAt, context), ...why, ...(isDue ? requestedSentences(record, context) : [])];
}

/** How a freeze delays the deletion of a pod. A deadline in the future includes the end of the freeze. */
function frozenSentence(
  target: { readonly pod: string; readonly node: string },
  { untilAt, remainingMs, by }: FrozenEviction,
  deadlineAt: number | null,
  { now }: ExplainContext,
): Sentence {
  if (by === POLICY_UNKNOWN) return sentence("podPolicyUnknown", target);
  if (remainingMs === null) return sentence("podFrozenStill", target);
  if (remainingMs === 0) return sentence("podFrozenDue", target);
  const left = countdownText(remainingMs);
  const isPlanned = untilAt !== null && deadlineAt !== null && deadlineAt > now;
  if (!isPlanned) return sentence("podFrozen", { ...target, left });
  return sentence("podFrozenUntil", { ...target, left, at: apiTime(deadlineAt) });
}

/** Why a pod that is due waits: its owner creates such pods again at once. */
function recreatedSentence(
  { node, taint }: BodyOf<"judged.pod">,
  { deletions, nextAt }: NonNullable<BodyOf<"judged.pod">["recreated"]>,
): Sentence {
  const named = taint === null ? "the taint" : taintName(taint);
  return sentence("podRecreated", { node, count: String(deletions), at: apiTime(nextAt), taint: named });
}

/** What a pod that is due waits for, and until when. */
function waitingSentence(
  { policy, field, place, waiting, expectedAt, behind, lease }: WaitingEviction,
  { now }: ExplainContext,
) {
  if (field === null) return sentence("podPacedUnknown", { policy });
  if (lease !== undefined) return unleasedSentence({ policy, field }, lease.holder);
  const counted = { policy, waiting: String(waiting) };
  const where = place === null ? String(behind ?? 0) : String(place);
  if (expectedAt === null) return sentence("podPacedNever", { policy, field });
  const when = { at: apiTime(expectedAt), span: spanText(Math.max(0, expectedAt - now)) };
  if (place === null) return sentence("podPacedBehind", { ...counted, ...when, count: where });
  return sentence("podPaced", { ...counted, ...when, field, place: where });
}

/** Why no eviction is permitted: the process that counts does not hold the Lease. */
function unleasedSentence(where: { readonly policy: string; readonly field: string }, holder: string | null): Sentence {
  const lease = `${LIMITS_LEASE.namespace}/${LIMITS_LEASE.name}`;
  if (holder === null) return sentence("podPacedUnleased", { ...where, lease });
  return sentence("podPacedElsewhere", { ...where, lease, holder });
}

/** A smaller clock difference is not mentioned, in milliseconds: people compare clocks by the second. */
const CLOCKS_AGREE_MS = 10_000;

/** That an eviction waits for the API server's clock, which is behind the clock that people read. */
function clockSentences(deadlineAt: number | null, { now, machineAheadMs }: ExplainContext): Sentence[] {
  if (deadlineAt === null || deadlineAt <= now || machineAheadMs < CLOCKS_AGREE_MS) return [];
  return [sentence("podClockBehind", { span: spanText(machineAheadMs), at: apiTime(deadlineAt + machineAheadMs) })];
}

function dueSentence(pod: string, deadlineAt: number | null, { now, isShadow }: ExplainContext): Sentence {
  if (deadlineAt === null) return sentence("podDueNow", { pod }, isShadow);
  const at = apiTime(deadlineAt);
  if (deadlineAt > now) return sentence("podDue", { pod, at, span: spanText(deadlineAt - now) }, isShadow);
  return sentence("podOverdue", { pod, at, span: spanText(now - deadlineAt) }, isShadow);
}

function requestedSentences(record: PodRecord, context: ExplainContext): Sentence[] {
  if (record.asked === null && record.last === null) return [sentence("podUnrequested", {})];
  return requestSentences(deletionOf(record, context), context);
}

function deletionOf({ asked, askedAt, last }: PodRecord, { now }: ExplainContext): TrackedRequest {
  return { what: "its deletion", node: asked?.node, taintChange: null, askedAt: askedAt ?? last?.at ?? now, last };
}

/** Why a pod must leave, where only the request for its deletion is known. */
function requestReasons(asked: PodRecord["asked"], known: NodeRecord | undefined): Sentence[] {
  if (asked === null) return [];
  const { node, mode, taint } = asked;
  if (mode === "direct") return [sentence("podDrained", { node }, known?.observed?.shadow !== undefined)];
  if (taint === null) return [sentence("podTainted", { node })];
  return [sentence("podUntoleratedNow", { node, taint: taintName(taint) }, isUnsent(taint, known?.observed ?? null))];
}

function tolerationReasons(
  judged: BodyOf<"judged.pod">,
  known: NodeRecord | undefined,
  context: ExplainContext,
): Sentence[] {
  const { node, tolerationSeconds, toleratedTaint } = judged;
  const observed = known?.observed ?? null;
  if (judged.taint === null) return [sentence("podTainted", { node })];
  const taint = taintName(judged.taint);
  const isShadow = isUnsent(judged.taint, observed);
  if (tolerationSeconds === null) return [sentence("podUntolerated", { node, taint }, isShadow)];
  const values = { node, taint, seconds: String(tolerationSeconds) };
  const begunAt = begunBefore(judged, observed, pausedIntervals(judged.taint, known, context));
  if (begunAt !== null) return [sentence("podContinues", { ...values, at: apiTime(begunAt) }, isShadow)];
  if (toleratedTaint === undefined) return [sentence("podTolerates", values, isShadow)];
  return [sentence("podToleratesOpposite", { ...values, opposite: taintName(toleratedTaint) }, isShadow)];
}

/** Whether only shadow mode shows this taint. */
function isUnsent(taint: TaintId, node: ObservedNode | null): boolean {
  return node?.shadow?.added?.some((added) => taintName(added) === taintName(taint)) === true;
}

/** When the countdown by a taint was and is paused. */
function pausedIntervals(
  taint: TaintId,
  known: NodeRecord | undefined,
  { freezes, outagesOf }: ExplainContext,
): readonly FrozenInterval[] {
  const frozen = freezes.intervalsOf(known?.judged);
  if (known?.observed == null || !isSwappable(taint)) return frozen;
  return mergedIntervals([...frozen, ...outagesOf(known.observed).intervals]);
}

/** When a countdown began with the opposite taint; null where it began with the present one. */
function begunBefore(
  judged: BodyOf<"judged.pod">,
  node: ObservedNode | null,
  frozen: readonly FrozenInterval[],
): number | null {
  const { taint: decisive, deadlineAt, tolerationSeconds } = judged;
  const { startAt, lineage } = presentStart(decisive, node) ?? { lineage: null };
  if (startAt === undefined || lineage === null || deadlineAt === null || tolerationSeconds === null) return null;
  const begunAt = countdownStartAt(deadlineAt, tolerationSeconds * 1000, frozen);
  // Stamps are whole seconds: a taint that is replaced within its first second may begin after its successor's stamp.
  const isStampShared = lineage.since >= startAt && begunAt < startAt + API_TIME_STEP_MS;
  return begunAt < startAt || isStampShared ? begunAt : null;
}

/** Why nothing requests the deletion of a pod now, and what follows. */
function notEvictedSentences(pod: string, { node, pod: observed }: BoundPod, context: ExplainContext): Sentence[] {
  const known = presentNode(node, context);
  if (known?.observed == null) return [absentNodeSentence(node, context)];
  if (context.profile.evictionMode === "direct") return [undrainedSentence(pod, observed, known, context)];
  if (hasCompleted(observed)) return [sentence("podCompleted", { pod, phase: observed.phase })];
  const taints = noExecuteTaints(known.observed.taints);
  if (taints.length > 0) return [taintedSentence(pod, observed, known.observed, context)];
  const judged = presentJudgement(known, context);
  const taint = judged === null ? null : waitingTaintOf(judged);
  if (taint === null) return [sentence("podSafe", { pod, node })];
  return [sentence("podWaits", { pod, node }), thenSentence(observed, taint, context)];
}

function undrainedSentence(pod: string, { owner }: ObservedPod, known: NodeRecord, context: ExplainContext): Sentence {
  if (owner === "DaemonSet") return sentence("podNotEvicted", { pod });
  const { name: node, observed } = known;
  const judged = presentJudgement(known, context);
  const isAhead = judged?.eviction === "toBeEvicted" || judged?.evictionFromAt !== undefined;
  if (isAhead) return sentence("podWaits", { pod, node });
  if (judged?.eviction !== "evicted") return sentence("podUndrained", { pod, node });
  return sentence("podDrained", { node }, observed?.shadow !== undefined);
}

/** Computes the deadline of a pod, because its message was lost or is older than this ledger. */
function taintedSentence(pod: string, observed: ObservedPod, node: ObservedNode, context: ExplainContext): Sentence {
  const taints = listText(noExecuteTaints(node.taints).map(taintName));
  const eviction = evictionFrom(node, observed, context);
  const { isShadow, freezes } = context;
  if (eviction !== null && observed.mirror === true)
    return sentence("podMirror", { pod, taint: taintName(eviction.taint) });
  if (eviction === null) {
    const unreadable = unreadableIn(noExecuteTaints(node.taints), observed, context);
    if (unreadable !== null) return sentence("podUnreadable", { pod, ...unreadableValues(unreadable) });
    return sentence("podForever", { pod, taints }, node.shadow?.added !== undefined);
  }
  const isFrozen = freezes.evictionFreeze(presentNode(node.node, context)?.judged) !== null;
  if (isFrozen) return sentence("podFrozenStill", { pod, node: node.node });
  if (eviction.at === Number.POSITIVE_INFINITY) {
    const last = context.outagesOf(node).intervals.at(-1);
    return last?.toAt === null ? outageSentence(pod, last) : sentence("podFreezeAhead", { pod });
  }
  const taint = taintName(eviction.taint);
  if (!Number.isFinite(eviction.at)) return sentence("podComputedNow", { pod, taint }, isShadow);
  return sentence("podComputed", { pod, taint, at: apiTime(eviction.at) }, isShadow);
}

/** What the coming taint of its node means for a pod. */
function thenSentence(observed: ObservedPod, then: TaintId, context: ExplainContext): Sentence {
  const taint = taintName(then);
  const eviction = evictionUnder([{ taint: then, since: context.now }], observed, context);
  if (eviction === null) {
    const unreadable = unreadableIn([then], observed, context);
    return unreadable === null
      ? sentence("podThenForever", { taint })
      : sentence("podThenUnreadable", unreadableValues(unreadable));
  }
  const { tolerationSeconds } = eviction;
  if (tolerationSeconds === null) return sentence("podThenNot", { taint }, context.isShadow);
  return sentence("podThenFor", { taint, seconds: String(tolerationSeconds) });
}

/** The toleration that keeps a pod because it cannot be read; null for none. */
function unreadableIn(
  taints: readonly Taint[],
  { tolerations }: ObservedPod,
  { profile }: ExplainContext,
): UnreadableToleration | null {
  return unreadableTolerationOf(taints, tolerations, { comparisonOperators: profile.tolerationComparisonOperators });
}

function unreadableValues({ taint, toleration }: UnreadableToleration): { taint: string; why: string } {
  return { taint: taintName(taint), why: unreadableText(toleration) };
}

/** When a pod has to leave its node by the observed taints. */
function evictionFrom(node: ObservedNode, observed: ObservedPod, context: ExplainContext): Eviction | null {
  const counted = noExecuteTaints(node.taints).map((taint): CountedTaint => {
    const since = taintStartAt(taint, node) ?? context.now;
    const lineage = lineageOf(taint, since, node);
    return { taint, since, ...(lineage === null ? {} : { lineage }) };
  });
  const frozen = context.freezes.intervalsOf(presentNode(node.node, context)?.judged);
  return evictionUnder(counted, observed, context, { frozen, outages: context.outagesOf(node) });
}

function evictionUnder(
  taints: readonly CountedTaint[],
  observed: ObservedPod,
  { profile, now }: ExplainContext,
  paused: PausedTime = {},
): Eviction | null {
  const comparisonOperators = profile.tolerationComparisonOperators;
  const boundAt = bindingAt(observed, { seenAt: null, nowAt: now });
  return evictionOf(taints, observed.tolerations, boundAt, { comparisonOperators, ...paused });
}
