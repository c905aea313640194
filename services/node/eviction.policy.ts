/**
 * What happens to a node's eviction and to its pods, in both modes. Whose turn it is the zone decides; it reads no
 * clock.
 */
import type { EvictionStatus, Readiness } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Condition, ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import type { NodeEvent } from "./node.machine.ts";
import { FIRST_LATER_MS } from "./silence.policy.ts";
import { carriesNoExecute } from "./taint.policy.ts";

/** API times are cut to whole seconds, so what they name may be this much later. */
const API_TIME_STEP_MS = 1000;

/** An earliest instant of a drain that moves by less than this is the same one, in milliseconds: clocks are slewed. */
const DRAIN_MOVED_MS = 1000;

/** The earliest instant of a drain as `judged.node` carries it, for people who want to know what is to come. */
export type DrainFrom = Pick<BodyOf<"judged.node">, "evictionFromAt">;

/** The event for the readiness region: the Ready condition as the API shows it. */
export function readinessEvent(node: Pick<ObservedNode, "conditions">): NodeEvent {
  const status = readyConditionOf(node)?.status;
  return status === undefined ? "readyMissing" : `ready${status}`;
}

/**
 * The event for the eviction region in taint mode: evicted means that a NoExecute taint of ours stands on the node,
 * whoever set it, so the status is known again after a restart. Null when nothing happens.
 */
export function taintEvictionEvent(node: Pick<ObservedNode, "taints">, readiness: Readiness): NodeEvent {
  if (carriesNoExecute(node)) return "evictionFound";
  return isDown(readiness) ? "evictionDue" : "evictionCancelled";
}

/**
 * The event for the eviction region in direct mode (5.3): due once a node has been down for pod-eviction-timeout,
 * cancelled when it is ready (5.5). A node evicted or queued stays so while it is down (R5.8); a missing Ready changes
 * nothing (R2.23).
 */
export function directEvictionEvent(
  readiness: Readiness,
  status: EvictionStatus,
  isOverdue: boolean,
): NodeEvent | null {
  if (readiness === "ready") return "evictionCancelled";
  return isDown(readiness) && status === "unmarked" && isOverdue ? "evictionDue" : null;
}

/** The instants a node's direct eviction is counted from, on one clock; nulls are not known. */
export interface DownSince {
  readonly readiness: Readiness;
  /** When the Ready condition last changed. */
  readonly transitionMs: number;
  readonly lastHeartbeatMs: number;
  /** Whether that sign was seen to come, rather than found at first sight. */
  readonly isHeartbeatWitnessed: boolean;
}

/**
 * The first instant at which a node's pods may be deleted in direct mode (R5.3): False counts from the transition,
 * Unknown from the last sign of life. A sign nobody witnessed is known from the API: it came a grace before the node
 * became Unknown.
 */
export function directEvictionFromMs(
  down: DownSince,
  profile: Pick<Profile, "podEvictionTimeoutMs" | "nodeMonitorGraceMs">,
): number {
  const impliedMs = down.transitionMs - profile.nodeMonitorGraceMs;
  const lastHeartbeatMs = down.isHeartbeatWitnessed ? down.lastHeartbeatMs : Math.min(down.lastHeartbeatMs, impliedMs);
  const fromMs = down.readiness === "unknown" ? lastHeartbeatMs : down.transitionMs;
  return fromMs + profile.podEvictionTimeoutMs + FIRST_LATER_MS;
}

/** The same instant on the wall clock, as it is published; `fromMs` is null when no drain lies ahead. */
export function drainFrom(before: DrainFrom, fromMs: number | null, nowMs: number, wallMs: number): DrainFrom {
  if (fromMs === null || !Number.isFinite(fromMs)) return {};
  const evictionFromAt = Math.round(wallMs + (fromMs - nowMs));
  const isSame = Math.abs(evictionFromAt - (before.evictionFromAt ?? Number.POSITIVE_INFINITY)) < DRAIN_MOVED_MS;
  return isSame ? before : { evictionFromAt };
}

/** The instants at which a node was found: on the wall clock, on the monotonic clock, and its creation at the API. */
export interface FoundAt {
  readonly wallMs: number;
  readonly nowMs: number;
  readonly createdAt: number;
}

/**
 * When the Ready condition of a node found at a start last changed, as the latest instant it may be on the monotonic
 * clock. A kubelet stamps transition and heartbeat with one clock, which need not agree with any other: their
 * difference is how old the condition was at that heartbeat. Unknown is stamped by a controller beside a heartbeat of
 * the kubelet, so its transition is compared with our clock. A transition without a time counts from now (R2.35).
 */
export function foundTransitionMs(ready: Condition | null, { wallMs, nowMs, createdAt }: FoundAt): number {
  if (ready !== null && ready.transitionAt === null) return nowMs;
  const transitionAt = ready?.transitionAt ?? createdAt;
  const isKubelets = ready !== null && ready.status !== "Unknown";
  const readAt = isKubelets ? (ready.heartbeatAt ?? transitionAt) : wallMs;
  return nowMs - Math.max(0, readAt - transitionAt - API_TIME_STEP_MS);
}

/**
 * The pods to delete from an evicted node in direct mode: those of DaemonSets are kept (L39), terminating ones are on
 * their way.
 */
export function podsToEvict(pods: readonly ObservedPod[]): readonly ObservedPod[] {
  return pods.filter((pod) => pod.owner !== "DaemonSet" && pod.deletionAt === null);
}

function isDown(readiness: Readiness): boolean {
  return readiness === "notReady" || readiness === "unknown";
}
