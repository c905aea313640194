/**
 * When a node's silence has lasted too long, and what is then said of it. It reads no clock: every instant is given.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import { FORCED_CONDITIONS, SilentReason } from "../../protocols/names.ts";
import type { Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";

/** A condition to write on a silent node. */
export type ForcedCondition = BodyOf<"asked.condition">["conditions"][number];

/**
 * Expiry is strict (2.8, step E): at exactly the last sign plus the grace a node still counts as alive. Clocks and API
 * stamps count whole milliseconds, so this is how much later the first instant of silence is.
 */
export const FIRST_LATER_MS = 1;

/**
 * Whether a heartbeat is news: it is when its stamp differs at all from the one `before` of its kind, backwards too
 * (R2.34); `before` is undefined until the first is known. Upstream wants a lease renewed later (R2.38), so that a step
 * back of the kubelets' clocks makes live nodes Unknown. Losing the Ready condition is no heartbeat (R2.36).
 */
export function isFresh(renewedAt: Heartbeat["renewedAt"], before: Heartbeat["renewedAt"] | undefined): boolean {
  return before === undefined || (renewedAt !== null && renewedAt !== before);
}

/** The silence tolerated of a node: longer while it has not posted a Ready condition (R2.32, R2.33). */
export function graceMsOf(
  node: Pick<ObservedNode, "conditions">,
  profile: Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs">,
): number {
  return readyConditionOf(node) === null ? profile.nodeStartupGraceMs : profile.nodeMonitorGraceMs;
}

/**
 * The first instant at which a node's silence has lasted longer than its grace. Time before the present sight does not
 * count.
 */
export function silentFromMs(lastHeartbeatMs: number, syncedSinceMs: number | null, graceMs: number): number {
  return Math.max(lastHeartbeatMs, syncedSinceMs ?? lastHeartbeatMs) + graceMs + FIRST_LATER_MS;
}

/**
 * The conditions to force on a silent node, in upstream's order (2.8, step F). None when Ready is Unknown already: then
 * nothing is written at all (R2.45). A condition the node lacks is one its kubelet never posted.
 */
export function conditionsToForce(node: ObservedNode): ForcedCondition[] {
  if (readyConditionOf(node)?.status === "Unknown") return [];
  return FORCED_CONDITIONS.flatMap((type): ForcedCondition[] => {
    const current = node.conditions.find((condition) => condition.type === type);
    if (current === undefined) {
      return [{ type, status: "Unknown", ...SilentReason.never, heartbeatAt: node.createdAt }];
    }
    return current.status === "Unknown"
      ? []
      : [{ type, status: "Unknown", ...SilentReason.stopped, heartbeatAt: null }];
  });
}
