/** Decides by live objects whether an ask about a pod still holds, and what is to be written. It reads no clock. */
import type { Outcome } from "../../protocols/done.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { ConditionType } from "../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import type { BoundPod, KubeObject, WriteReply } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { epochMsOf } from "../domain/api-time.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { lineageOf, taintStartAt } from "../domain/taint-swap.ts";
import {
  evictionOf,
  hasCompleted,
  noExecuteTaints,
  type StandingTaint,
  type TolerationRules,
} from "../domain/toleration.ts";
import type { VersionedPatch } from "../platform/requests/guarded-patch.ts";
import type { TryHistory } from "../platform/requests/write-jobs.ts";
import { type JsonRecord, listOf, recordOf } from "../platform/structures/json.ts";

/** An ask that came to an end without a write. */
export interface NotNeeded {
  readonly kind: "moot";
  readonly outcome: Extract<Outcome, "ok" | "gone" | "refused">;
  readonly detail: string;
}

/** What live objects say about an ask: act, because of this taint if of any, or nothing is left to do. */
export type PodWriteDecision = { readonly kind: "act"; readonly taint: Taint | null } | NotNeeded;

/** A live pod: as the product projects it, and as the API sent it. */
export interface LivePod extends BoundPod {
  readonly object: KubeObject;
}

/** What an eviction is judged with. */
export interface EvictionRules extends TolerationRules {
  /** The writer's wall clock, epoch milliseconds. */
  readonly wallMs: number;
  /** The latest instant that it can be, epoch milliseconds: the writer's wall clock without its steps back. */
  readonly latestMs: number;
  /** How far the writer's wall clock was behind the asker's when the ask came, in milliseconds. */
  readonly behindMs: number;
}

/** Clocks that are this far apart, in milliseconds, are not believed to be right both. */
const CLOCKS_APART_MS = 2000;

/** Why no service of Vigil asks for this eviction; null when one may. */
export function forbiddenEviction(
  { mode }: Pick<BodyOf<"asked.eviction">, "mode">,
  { evictionMode }: Pick<Profile, "evictionMode">,
): string | null {
  return mode === evictionMode ? null : `${mode} mode asks for it, and this is ${evictionMode} mode`;
}

/** Nothing is to be written. */
function notNeeded(outcome: NotNeeded["outcome"], detail: string): NotNeeded {
  return { kind: "moot", outcome, detail };
}

/**
 * Whether a pod is to be deleted now. It must be the pod that was meant, on the node that was meant, and not on its way
 * out (L23, L34). In taint mode the node's taints and the pod's tolerations are weighed again as they are now, and a
 * pod that has completed stays: a stale view evicts nobody (upstream issues 119862, 139992). The deadline that follows
 * must have passed by our own count of the time, which a step back of the clock does not set back, as the asker has
 * counted through it too; and when the asker's clock is ahead of ours, our clock has to agree. In direct mode the node
 * must be down and the pod no DaemonSet's.
 */
export function decideEviction(
  ask: BodyOf<"asked.eviction">,
  node: ObservedNode,
  live: LivePod | null,
  rules: EvictionRules,
): PodWriteDecision {
  const absent = absence(ask, live);
  if (absent !== null || live === null) return absent ?? notNeeded("gone", "the pod is gone");
  if (live.pod.deletionAt !== null) return notNeeded("gone", "the pod is terminating already");
  return ask.mode === "taint" ? decideTaintEviction(ask, node, live, rules) : decideDirectEviction(node, live);
}

/**
 * Whether a pod's Ready condition is to be set to False (R3.2, R3.5): it has one that is not, and its node is not
 * ready.
 */
export function decideUnready(
  ask: BodyOf<"asked.unready">,
  node: ObservedNode,
  live: LivePod | null,
): PodWriteDecision {
  const absent = absence(ask, live);
  if (absent !== null || live === null) return absent ?? notNeeded("gone", "the pod is gone");
  const notDownNode = notDown(node);
  if (notDownNode !== null) return notDownNode;
  if (live.pod.ready === null) return notNeeded("refused", "the pod has no Ready condition");
  if (live.pod.ready === "False") return notNeeded("ok", "its Ready condition is False already");
  return { kind: "act", taint: null };
}

/**
 * That nothing is to be done because the node is ready, or has no Ready condition, so that its pods are left alone
 * (R2.23); null while it is down.
 */
export function notDown(node: ObservedNode): NotNeeded | null {
  const ready = readyConditionOf(node);
  if (ready === null) return notNeeded("refused", `node ${node.node} has no Ready condition`);
  return ready.status === "True" ? notNeeded("refused", `node ${node.node} is ready again`) : null;
}

function absence(ask: { uid: string; node: string }, live: LivePod | null): NotNeeded | null {
  if (live === null) return notNeeded("gone", "the pod is bound to no node");
  if (live.pod.uid !== ask.uid) return notNeeded("gone", `another pod has its name: uid ${live.pod.uid}`);
  return live.node === ask.node ? null : notNeeded("refused", `the pod is bound to ${live.node}`);
}

function decideTaintEviction(
  ask: BodyOf<"asked.eviction">,
  node: ObservedNode,
  { pod }: LivePod,
  rules: EvictionRules,
): PodWriteDecision {
  if (hasCompleted(pod)) return notNeeded("refused", `the pod has completed: ${pod.phase}`);
  const standing = noExecuteTaints(node.taints).map((taint) => standingTaint(taint, node, ask, rules.wallMs));
  const eviction = evictionOf(standing, pod.tolerations, pod.boundAt, rules);
  if (eviction === null) return notNeeded("refused", `the pod tolerates every NoExecute taint of ${ask.node}`);
  if (eviction.at > ask.deadlineAt) return notNeeded("refused", "its deadline is later by the taints as they are now");
  if (eviction.at > rules.latestMs + CLOCKS_APART_MS) return notNeeded("refused", "its deadline has not come yet");
  if (rules.behindMs > CLOCKS_APART_MS && rules.wallMs < eviction.at) {
    return notNeeded("refused", `our clock is ${rules.behindMs} ms behind the asker's, and shows no deadline yet`);
  }
  return { kind: "act", taint: eviction.taint };
}

/**
 * The taint with the instant it counts from. What is recorded of the taint may be left of an earlier one of its name,
 * which this one has replaced: it counts only for the very taint that the asker sees. Of that one, where the API tells
 * no instant, or one that is still to come, the asker has seen it appear, and we believe that its time has come.
 */
function standingTaint(taint: Taint, node: ObservedNode, ask: BodyOf<"asked.eviction">, wallMs: number): StandingTaint {
  const isSeen = isSeenByAsker(taint, ask);
  const startAt = isSeen ? taintStartAt(taint, node) : (epochMsOf(taint.timeAdded) ?? wallMs);
  const lineage = lineageOf(taint, startAt, node);
  const isBelieved = isSeen && (startAt === null || startAt > wallMs);
  const since = isBelieved ? Number.NEGATIVE_INFINITY : (startAt ?? wallMs);
  return { taint, since, ...(lineage === null ? {} : { lineage }) };
}

/** Whether the asker sees this taint with this stamp; one that does not say which stamp it sees is believed. */
function isSeenByAsker({ key, effect, timeAdded }: Taint, ask: BodyOf<"asked.eviction">): boolean {
  if (ask.timeAdded === undefined || ask.taint === null) return true;
  return ask.taint.key === key && ask.taint.effect === effect && ask.timeAdded === (timeAdded ?? null);
}

function decideDirectEviction(node: ObservedNode, { pod }: LivePod): PodWriteDecision {
  const notDownNode = notDown(node);
  if (notDownNode !== null) return notDownNode;
  if (pod.owner === "DaemonSet") return notNeeded("refused", "the pod belongs to a DaemonSet");
  return { kind: "act", taint: null };
}

/** How long an eviction waits for its pod's status to be patched, in milliseconds: a webhook may be restarting. */
const MARKING_TIMEOUT_MS = 60_000;
/** Conflicts after which a delete no longer names the version. */
const VERSION_CONFLICTS_MAX = 3;

/**
 * Whether a pod may be deleted although the patch that says why ended like this. A drain goes on at once. A taint
 * eviction needs its condition (R8.27), but not for ever: a webhook that refuses every status may itself be waiting for
 * its pods to leave the dead node. After a conflict or a throttled patch the next try comes soon enough.
 */
export function mayDeleteUnmarked(
  outcome: WriteReply["outcome"],
  isDrain: boolean,
  { failingSinceMs }: TryHistory,
  nowMs: number,
): boolean {
  if (outcome === "conflict" || outcome === "throttled") return false;
  return isDrain || (failingSinceMs !== null && nowMs - failingSinceMs >= MARKING_TIMEOUT_MS);
}

/**
 * What a delete names: the pod, and the version that was judged, so that a change since then is judged first. A kubelet
 * that posts status faster than a slow server answers would win for ever; after some conflicts the uid has to do, for
 * each was followed by a live read with the same result.
 */
export function deletePreconditions(
  { pod, resourceVersion }: LivePod,
  { conflicts }: TryHistory,
): { readonly uid: string; readonly resourceVersion?: string } {
  return conflicts < VERSION_CONFLICTS_MAX ? { uid: pod.uid, resourceVersion } : { uid: pod.uid };
}

/** A strategic merge patch of a pod's status. */
export interface StatusPatch {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string };
  readonly status: Readonly<Record<string, unknown>>;
}

/**
 * Sets the Ready condition of a pod in this version to False and keeps its reason and message (R3.2, R3.4); the server
 * refuses it when the pod has changed since.
 */
export function unreadyPatch(uid: string, resourceVersion: string, now: string): VersionedPatch & StatusPatch {
  const ready = { type: ConditionType.ready, status: "False", lastTransitionTime: now };
  return { metadata: { uid, resourceVersion }, status: { conditions: [ready] } };
}

/** Type and reason of the condition by which a pod shows that it was evicted (R8.28). */
const DISRUPTION_TARGET = { type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager" } as const;

/** Says on the pod why it is deleted (R8.28), naming taint and node as upstream does not; null when it stands there. */
export function disruptionTargetPatch(
  { pod, node, object }: LivePod,
  { key, value, effect }: Taint,
  now: string,
): StatusPatch | null {
  const shown = `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`;
  const message = `Taint manager: deleting due to NoExecute taint ${shown} on node ${node}`;
  const condition = { ...DISRUPTION_TARGET, message };
  const standing = conditionsOf(object).find(({ type }) => type === condition.type);
  if (standing?.status === "True" && standing.reason === condition.reason && standing.message === message) return null;
  const lastTransitionTime = standing?.status === "True" ? standing.lastTransitionTime : now;
  const { generation } = object.metadata;
  const observed = typeof generation === "number" ? { observedGeneration: generation } : {};
  return conditionPatch(pod.uid, object, { ...condition, lastTransitionTime, ...observed });
}

/** Says on the pod that its node is lost (R5.16, step 2); null when it stands there. */
export function nodeLostPatch({ pod, node, object }: LivePod): StatusPatch | null {
  if (recordOf(object.status).reason === "NodeLost") return null;
  const message = `Node ${node} which was running pod ${pod.name} is unresponsive`;
  return { metadata: { uid: pod.uid }, status: { reason: "NodeLost", message } };
}

/** A patch of one condition in upstream's shape (R8.29), with the uid as precondition and the order of all types. */
function conditionPatch(
  uid: string,
  object: KubeObject,
  condition: { readonly type: string; readonly [field: string]: unknown },
): StatusPatch {
  const types: unknown[] = conditionsOf(object).map(({ type }) => type);
  const order = types.includes(condition.type) ? types : [...types, condition.type];
  return {
    metadata: { uid },
    status: { "$setElementOrder/conditions": order.map((type) => ({ type })), conditions: [condition] },
  };
}

function conditionsOf({ status }: KubeObject): JsonRecord[] {
  return listOf(recordOf(status).conditions).map(recordOf);
}
