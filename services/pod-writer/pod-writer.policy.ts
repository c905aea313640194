/** Decides from live objects whether a request about a pod still applies, and builds the patches. */
import type { Outcome } from "../../protocols/done.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { ConditionType, TaintKey } from "../../protocols/names.ts";
import type { ObservedNode, Taint, Toleration } from "../../protocols/objects.ts";
import type { BoundPod, KubeObject, WriteReply } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { epochMsOf } from "../domain/api-time.ts";
import type { Freeze } from "../domain/freeze.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { isInOutage, NO_OUTAGES } from "../domain/paused-time/outages.ts";
import { lineageOf, taintStartAt } from "../domain/taint-swap.ts";
import {
  bindingAt,
  type CountedTaint,
  evictionOf,
  hasCompleted,
  isSwappable,
  noExecuteTaints,
  type TolerationRules,
  taintName,
  unreadableText,
  unreadableTolerationOf,
} from "../domain/toleration.ts";
import { projectPod, UNREPORTED } from "../platform/kube/watch/projection.ts";
import type { ConditionPatch, PodStatusPatch } from "../platform/kube/write/sent-bodies.ts";
import type { VersionedPatch } from "../platform/requests/guarded-patch.ts";
import type { TryHistory } from "../platform/requests/write-jobs.ts";
import { type JsonRecord, listOf, recordOf, textOf } from "../structures/json.ts";

/** The request ends without a write. */
export interface NotNeeded {
  readonly kind: "moot";
  /** `failed` for a request that may apply in a moment, and is attempted again. */
  readonly outcome: Extract<Outcome, "ok" | "gone" | "refused" | "failed">;
  readonly detail: string;
}

/** Carry out the request, because of this taint if of any, or end it. */
export type PodWriteDecision = { readonly kind: "act"; readonly taint: Taint | null } | NotNeeded;

/** A pod to decide on, projected and as the API sent it; null instead if it was observed and not read. */
export interface KnownPod extends BoundPod {
  readonly object: KubeObject | null;
}

/** A pod that was read live. */
export interface LivePod extends KnownPod {
  readonly object: KubeObject;
}

/** A pod as the API sent it; null if it is bound to no node. */
export function livePod(object: KubeObject): LivePod | null {
  const bound = projectPod(object, UNREPORTED);
  return bound === null ? null : { ...bound, object };
}

/** The settings and clocks that an eviction is decided with. */
export interface EvictionRules extends TolerationRules {
  /** The writer's wall clock, epoch milliseconds. */
  readonly wallMs: number;
  /** The latest possible present instant, epoch milliseconds: the writer's wall clock without its steps back. */
  readonly latestMs: number;
  /** What freezes the node; null or absent for nothing. */
  readonly freeze?: Freeze | null;
  /** Why an outage may not be known yet, after which a node has to be heard first; null when it is known. */
  readonly blindness?: string | null;
  /** How far the writer's wall clock was behind the requester's when the request was received, in milliseconds. */
  readonly behindMs: number;
}

/** If two clocks are this far apart, in milliseconds, one of them counts as wrong. */
const CLOCKS_APART_MS = 2000;

/** Why no service of Vigil requests this eviction; null if one may. */
export function forbiddenEviction(
  { mode }: Pick<BodyOf<"asked.eviction">, "mode">,
  { evictionMode, upstream }: Pick<Profile, "evictionMode" | "upstream">,
): string | null {
  if (upstream === "beside") return "beside upstream Vigil evicts no pod";
  return mode === evictionMode ? null : `${mode} mode requests it, and this is ${evictionMode} mode`;
}

function notNeeded(outcome: NotNeeded["outcome"], detail: string): NotNeeded {
  return { kind: "moot", outcome, detail };
}

/**
 * Whether to delete a pod now. It must be the requested pod on the requested node, and not terminating (L23, L34). In
 * taint mode the present taints and tolerations decide again and a completed pod stays, so that a stale view evicts no
 * pods (upstream issues 119862, 139992). The resulting deadline must have passed by `latestMs`, because the requester
 * counts through steps back of the clock too. If the requester's clock is ahead of ours, ours must have reached the
 * deadline as well. In direct mode the node must be down and the pod must not belong to a DaemonSet.
 */
export function decideEviction(
  request: BodyOf<"asked.eviction">,
  node: ObservedNode,
  known: KnownPod | null,
  rules: EvictionRules,
): PodWriteDecision {
  const absent = absence(request, known);
  if (absent !== null || known === null) return absent ?? notNeeded("gone", "the pod is gone");
  if (known.pod.deletionAt !== null) return notNeeded("gone", "the pod is terminating already");
  if (rules.freeze != null) return notNeeded("refused", `node ${request.node} is frozen: ${rules.freeze.field}`);
  return request.mode === "taint"
    ? decideTaintEviction(request, node, known, rules)
    : decideDirectEviction(node, known, rules);
}

/** Whether to set a pod's Ready condition to False (R3.2, R3.5): it has one that is not False, and its node is down. */
export function decideUnready(
  request: BodyOf<"asked.unready">,
  node: ObservedNode,
  live: LivePod | null,
): PodWriteDecision {
  const absent = absence(request, live);
  if (absent !== null || live === null) return absent ?? notNeeded("gone", "the pod is gone");
  const notDownNode = notDown(node);
  if (notDownNode !== null) return notDownNode;
  if (live.pod.ready === null) return notNeeded("refused", "the pod has no Ready condition");
  if (live.pod.ready === "False") return notNeeded("ok", "its Ready condition is False already");
  return { kind: "act", taint: null };
}

/** Ends a request because the node is ready or has no Ready condition (R2.23); null while it is down. */
export function notDown(node: ObservedNode): NotNeeded | null {
  const ready = readyConditionOf(node);
  if (ready === null) return notNeeded("refused", `node ${node.node} has no Ready condition`);
  return ready.status === "True" ? notNeeded("refused", `node ${node.node} is ready again`) : null;
}

function absence(request: { uid: string; node: string }, known: KnownPod | null): NotNeeded | null {
  if (known === null) return notNeeded("gone", "the pod is bound to no node");
  if (known.pod.uid !== request.uid) return notNeeded("gone", `another pod has its name: uid ${known.pod.uid}`);
  return known.node === request.node ? null : notNeeded("refused", `the pod is bound to node ${known.node}`);
}

function decideTaintEviction(
  request: BodyOf<"asked.eviction">,
  node: ObservedNode,
  { pod }: KnownPod,
  rules: EvictionRules,
): PodWriteDecision {
  if (hasCompleted(pod)) return notNeeded("refused", `the pod has completed: ${pod.phase}`);
  if (pod.mirror === true) return notNeeded("refused", "it mirrors a static pod, which only its kubelet can end");
  const present = noExecuteTaints(node.taints).map((taint) => startedTaint(taint, node, request, rules.wallMs));
  const boundAt = bindingAt(pod, { seenAt: request.boundAt ?? null, nowAt: rules.latestMs });
  const eviction = evictionOf(present, pod.tolerations, boundAt, rules);
  if (eviction === null) return notNeeded("refused", stayReason(request.node, present, pod.tolerations, rules));
  const unheard = isSwappable(eviction.taint) ? (reportedAgain(node, eviction.taint) ?? notHeard(rules)) : null;
  if (unheard !== null) return unheard;
  if (eviction.at > request.deadlineAt)
    return notNeeded("refused", "its deadline is later by the taints as they are now");
  if (eviction.at > rules.latestMs + CLOCKS_APART_MS) return notNeeded("refused", "its deadline has not come yet");
  if (rules.behindMs > CLOCKS_APART_MS && rules.wallMs < eviction.at) {
    return notNeeded(
      "refused",
      `our clock is ${rules.behindMs} ms behind the requester's and has not reached the deadline`,
    );
  }
  return { kind: "act", taint: eviction.taint };
}

/** Why no taint of its node evicts a pod. */
function stayReason(
  node: string,
  present: readonly CountedTaint[],
  tolerations: readonly Toleration[],
  rules: TolerationRules,
): string {
  const taints = present.map(({ taint }) => taint);
  const unreadable = unreadableTolerationOf(taints, tolerations, rules);
  if (unreadable === null) return `the pod tolerates every NoExecute taint of node ${node}`;
  return `the pod may tolerate ${taintName(unreadable.taint)}: ${unreadableText(unreadable.toleration)}`;
}

/**
 * The taint with its start. A recorded start may be left over from an earlier taint of that name. So it counts only for
 * the exact taint that the requester saw. If the API has no start for that one, or a future one, the requester has seen
 * it appear and its deadline is accepted.
 */
function startedTaint(
  taint: Taint,
  node: ObservedNode,
  request: BodyOf<"asked.eviction">,
  wallMs: number,
): CountedTaint {
  const isSeen = isSeenByRequester(taint, request);
  const startAt = isSeen ? taintStartAt(taint, node) : (epochMsOf(taint.timeAdded) ?? wallMs);
  const lineage = lineageOf(taint, startAt, node);
  const isAccepted = isSeen && (startAt === null || startAt > wallMs);
  const since = isAccepted ? Number.NEGATIVE_INFINITY : (startAt ?? wallMs);
  return { taint, since, ...(lineage === null ? {} : { lineage }) };
}

/** Whether the requester saw this taint with this stamp; a request without a stamp fits every taint. */
function isSeenByRequester({ key, effect, timeAdded }: Taint, request: BodyOf<"asked.eviction">): boolean {
  if (request.timeAdded === undefined || request.taint === null) return true;
  return request.taint.key === key && request.taint.effect === effect && request.timeAdded === (timeAdded ?? null);
}

/**
 * Ends a request that rests on the silence of a node whose kubelet has reported since: the taint is about to be
 * removed, or replaced by `not-ready`, for which the pod may have another toleration.
 */
function reportedAgain(node: ObservedNode, { key }: Taint): NotNeeded | null {
  const status = readyConditionOf(node)?.status;
  if (key !== TaintKey.unreachable || status === undefined || status === "Unknown") return null;
  return notNeeded("failed", `node ${node.node} is heard again: its kubelet reports Ready=${status}`);
}

/** Why what the silence of a node causes has to wait, because the node could not be heard; null when it need not. */
function notHeard({ blindness = null, outages = NO_OUTAGES, latestMs }: EvictionRules): NotNeeded | null {
  if (blindness !== null) return notNeeded("failed", `whether nodes could be heard is not known: ${blindness}`);
  if (isInOutage(outages)) return notNeeded("refused", "no node can be heard, or that is not remembered yet");
  if (outages.notBeforeAt <= latestMs + CLOCKS_APART_MS) return null;
  return notNeeded("refused", "the node has not had its grace period since nodes can be heard again");
}

function decideDirectEviction(node: ObservedNode, { pod }: KnownPod, rules: EvictionRules): PodWriteDecision {
  const blocked = notDown(node) ?? notHeard(rules);
  if (blocked !== null) return blocked;
  if (pod.owner === "DaemonSet") return notNeeded("refused", "the pod belongs to a DaemonSet");
  return { kind: "act", taint: null };
}

/** How long an eviction waits for its mark, in milliseconds: a webhook may be restarting. */
const MARKING_TIMEOUT_MS = 60_000;
/** Conflicts after which a delete names only the uid. */
const VERSION_CONFLICTS_MAX = 3;

/**
 * Whether a pod may be deleted although its mark failed with this outcome. A drain deletes at once. So does an eviction
 * whose mark the API server denies, because waiting grants no permission. If the mark failed otherwise, a taint
 * eviction needs the condition (R8.27) for up to MARKING_TIMEOUT_MS, because a webhook may itself depend on pods of the
 * dead node. After a conflict or throttling the next attempt comes soon enough.
 */
export function mayDeleteUnmarked(
  outcome: WriteReply["outcome"],
  isDrain: boolean,
  { failingSinceMs }: TryHistory,
  nowMs: number,
): boolean {
  if (outcome === "conflict" || outcome === "throttled") return false;
  return isDrain || outcome === "denied" || (failingSinceMs !== null && nowMs - failingSinceMs >= MARKING_TIMEOUT_MS);
}

/**
 * Preconditions of a delete: the uid, and the version that was decided on, so that a changed pod is decided on again.
 * After VERSION_CONFLICTS_MAX conflicts the uid alone, because a kubelet may post status faster than a slow server
 * answers, and each conflict was followed by a live read with the same result.
 */
export function deletePreconditions(
  { pod, resourceVersion }: KnownPod,
  { conflicts }: TryHistory,
): { readonly uid: string; readonly resourceVersion?: string } {
  return conflicts < VERSION_CONFLICTS_MAX ? { uid: pod.uid, resourceVersion } : { uid: pod.uid };
}

/** A strategic merge patch of a pod's status. */
export interface StatusPatch {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly status: PodStatusPatch;
}

/** Sets Ready to False and keeps reason and message (R3.2, R3.4). Bound to this version: a changed pod conflicts. */
export function unreadyPatch(uid: string, resourceVersion: string, now: string): VersionedPatch & StatusPatch {
  const ready: ConditionPatch = { type: ConditionType.ready, status: "False", lastTransitionTime: now };
  return { metadata: { uid, resourceVersion }, status: { conditions: [ready] } };
}

/** The first minor version of Kubernetes whose controllers set the condition, and whose Jobs read it. */
const MARKING_SINCE_MINOR = 26;

/**
 * Whether pods are marked before they are deleted, as the upstream of the API server's version does (D13). A server
 * that does not report its version may have any.
 */
export function marksEvictions(minorVersion: number | null): boolean {
  return minorVersion === null || minorVersion >= MARKING_SINCE_MINOR;
}

/** The condition of an evicted pod (R8.28). */
export const DISRUPTION_TARGET = {
  type: "DisruptionTarget",
  status: "True",
  reason: "DeletionByTaintManager",
} as const;

/**
 * Marks a pod as evicted (R8.28); unlike upstream, the message names taint and node. Null if the mark is there. A pod
 * that was not read is marked in its observed version alone.
 */
export function disruptionTargetPatch(known: KnownPod, { key, value, effect }: Taint, now: string): StatusPatch | null {
  const { pod, node, object } = known;
  const shown = `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`;
  const message = `Taint manager: deleting due to NoExecute taint ${shown} on node ${node}`;
  const condition = { ...DISRUPTION_TARGET, message };
  const existing = conditionsOf(object).find(({ type }) => type === condition.type);
  if (existing?.status === "True" && existing.reason === condition.reason && existing.message === message) return null;
  const lastTransitionTime = existing?.status === "True" ? textOf(existing.lastTransitionTime) : now;
  const { generation } = pod;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const conditions: readonly ConditionPatch[] = [{ ...condition, lastTransitionTime, ...observed }];
  const order = object === null ? {} : { "$setElementOrder/conditions": conditionOrder(object, condition.type) };
  return { metadata: preconditionsOf(known), status: { ...order, conditions } };
}

/** Marks a pod with the loss of its node (R5.16); null if the mark is there. */
export function nodeLostPatch(known: KnownPod): StatusPatch | null {
  const { pod, node, object } = known;
  if (recordOf(object?.status).reason === "NodeLost") return null;
  const message = `Node ${node} which was running pod ${pod.name} is unresponsive`;
  return { metadata: preconditionsOf(known), status: { reason: "NodeLost", message } };
}

/** The uid (R8.29), and the version of a pod that was not read. */
function preconditionsOf({ pod: { uid }, resourceVersion, object }: KnownPod): StatusPatch["metadata"] {
  return object === null ? { uid, resourceVersion } : { uid };
}

/** The order of all types with this one, which upstream's patch names (R8.29). */
function conditionOrder(object: KubeObject, type: string): { readonly type: unknown }[] {
  const types: unknown[] = conditionsOf(object).map((condition) => condition.type);
  return (types.includes(type) ? types : [...types, type]).map((each) => ({ type: each }));
}

function conditionsOf(object: KubeObject | null): JsonRecord[] {
  return listOf(recordOf(object?.status).conditions).map(recordOf);
}
