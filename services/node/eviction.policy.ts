/** When a node's eviction is due and which pods to delete, in both modes. The zone grants the drain. Reads no clock. */

import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Condition, ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { API_TIME_STEP_MS } from "../domain/api-time.ts";
import type { Instant } from "../domain/instant.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { type PausedTime, silenceCountdownEndAt } from "../domain/paused-time/outages.ts";
import type { NodeEvent } from "./node.machine.ts";
import { publishedInstant } from "./published-instant.ts";
import { FIRST_LATER_MS } from "./silence.policy.ts";
import { carriesNoExecute } from "./taint.policy.ts";

/** What `judged.node` reports of a drain that is ahead: its earliest instant, and whether nothing may need deletion. */
export type DrainAhead = Pick<BodyOf<"judged.node">, "evictionFromAt" | "podsUnknown">;

/** The readiness event for the Ready condition that the API shows. */
export function readinessEvent(node: Pick<ObservedNode, "conditions">): NodeEvent {
  const status = readyConditionOf(node)?.status;
  return status === undefined ? "readyMissing" : `ready${status}`;
}

/**
 * The eviction event in taint mode. A node is evicted while it has a NoExecute taint of ours, no matter which process
 * set it, so a restarted process knows the status again. A delayed node does not wait, even if it did while silent.
 */
export function taintEvictionEvent(
  node: Pick<ObservedNode, "taints">,
  readiness: Readiness,
  isDelayed = false,
): NodeEvent {
  if (carriesNoExecute(node)) return "evictionFound";
  return isDown(readiness) && !isDelayed ? "evictionDue" : "evictionCancelled";
}

/** What a direct eviction depends on, besides the node's readiness. */
export interface DirectEviction {
  readonly status: EvictionStatus;
  /** Whether the node has been down for pod-eviction-timeout, and is not known to have no pod to delete. */
  readonly isOverdue: boolean;
  /** Whether it has pods to delete; null while its pods are not known. */
  readonly hasPods: boolean | null;
  /** Whether a delay keeps it from waiting. */
  readonly isDelayed?: boolean;
}

/**
 * The eviction event in direct mode: due once a node has been down for pod-eviction-timeout, cancelled when ready. An
 * evicted or queued node stays so while it is down (R5.8). A node without a pod to delete needs no drain, so it does
 * not wait for one (R5.13). While its pods are not known, a node neither begins to wait nor stops: an empty one would
 * be drained, and a pod that is bound to it later would go past the rate. A delayed node stops waiting. A missing Ready
 * changes nothing else (R2.23).
 */
export function directEvictionEvent(readiness: Readiness, eviction: DirectEviction): NodeEvent | null {
  const { status, isOverdue, hasPods, isDelayed = false } = eviction;
  const isNeedless = hasPods === false || isDelayed;
  if (readiness === "ready" || (status === "toBeEvicted" && isNeedless)) return "evictionCancelled";
  return isDown(readiness) && status === "unmarked" && isOverdue && hasPods === true ? "evictionDue" : null;
}

/** The instants that a direct eviction counts from, on one clock. */
export interface DownSince {
  readonly readiness: Readiness;
  readonly transitionMs: number;
  readonly lastHeartbeatMs: number;
  /** Whether that heartbeat was seen to arrive, rather than found at a start. */
  readonly isHeartbeatWitnessed: boolean;
  /** The grace by which it was found silent. */
  readonly graceMs: number;
}

/**
 * The first instant at which a node's pods may be deleted in direct mode (R5.3). False counts from the transition,
 * Unknown from the last heartbeat. A heartbeat that was not seen to arrive is dated by the API: it came a grace before
 * the node became Unknown. Example: the last heartbeat is at second 100, the grace is 50 s and the timeout 300 s. The
 * node becomes Unknown at second 150, and its pods may be deleted right after second 400. Paused time, on the same
 * clock, does not count.
 */
export function directEvictionFromMs(
  down: DownSince,
  profile: Pick<Profile, "podEvictionTimeoutMs" | "nodeMonitorGraceMs">,
  paused: PausedTime = {},
): number {
  // It may have had another grace then, so the shorter one counts.
  const graceMs = Math.min(profile.nodeMonitorGraceMs, down.graceMs);
  const impliedMs = down.transitionMs - graceMs;
  const lastHeartbeatMs = down.isHeartbeatWitnessed ? down.lastHeartbeatMs : Math.min(down.lastHeartbeatMs, impliedMs);
  const fromMs = down.readiness === "unknown" ? lastHeartbeatMs : down.transitionMs;
  return silenceCountdownEndAt(fromMs, profile.podEvictionTimeoutMs, paused) + FIRST_LATER_MS;
}

/** The drain that is ahead, for publishing; `fromMs` is that instant, and null when none is ahead. */
export function drainAhead(
  before: DrainAhead,
  { fromMs, hasPods }: { readonly fromMs: number | null; readonly hasPods: DirectEviction["hasPods"] },
  now: Instant,
): DrainAhead {
  if (fromMs === null) return {};
  const known = hasPods === null ? { podsUnknown: true } : {};
  if (!Number.isFinite(fromMs)) return known;
  return { evictionFromAt: publishedInstant(before.evictionFromAt, fromMs, now), ...known };
}

/** When a node was found, on both clocks, and when the API server created it. */
export type FoundAt = Instant & { readonly createdAt: number };

/**
 * The latest instant, on the monotonic clock, at which the Ready condition of a node found at a start may have changed.
 * A kubelet stamps transition and heartbeat with its own clock, so their difference is the age of the condition at that
 * heartbeat. No condition is older than its node, and where only the transition is, the clock was set in between, so it
 * counts from now. A controller stamps Unknown, so that transition is compared with our clock. A transition without a
 * time counts from now too (R2.35).
 */
export function foundTransitionMs(ready: Condition | null, { wallMs, nowMs, createdAt }: FoundAt): number {
  if (ready !== null && ready.transitionAt === null) return nowMs;
  const transitionAt = ready?.transitionAt ?? createdAt;
  const isPostedByKubelet = ready !== null && ready.status !== "Unknown";
  const readAt = isPostedByKubelet ? (ready.heartbeatAt ?? transitionAt) : wallMs;
  if (isPostedByKubelet && transitionAt < createdAt && readAt >= createdAt) return nowMs;
  const ageMs = Math.min(readAt - transitionAt - API_TIME_STEP_MS, wallMs - createdAt);
  return nowMs - Math.max(0, ageMs);
}

/** The pods to delete from an evicted node in direct mode: all but terminating ones and those of DaemonSets (L39). */
export function podsToEvict(pods: readonly ObservedPod[]): readonly ObservedPod[] {
  return pods.filter((pod) => pod.owner !== "DaemonSet" && pod.deletionAt === null);
}

/** Whether a drain would delete any pod of a node; null while its pods are not known. */
export function hasPodsToEvict(pods: readonly ObservedPod[] | null): boolean | null {
  return pods === null ? null : podsToEvict(pods).length > 0;
}

function isDown(readiness: Readiness): boolean {
  return readiness === "notReady" || readiness === "unknown";
}
