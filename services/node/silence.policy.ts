/** When a node has been silent too long, and which conditions are then forced on it. It reads no clock. */
import type { BodyOf } from "../../protocols/messages.ts";
import { FORCED_CONDITIONS, SilentReason } from "../../protocols/names.ts";
import type { Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";

/** A condition to write on a silent node. */
export type ForcedCondition = BodyOf<"asked.condition">["conditions"][number];

/**
 * From the end of a grace to the first instant after it, in milliseconds. Expiry is strict: at exactly its last
 * heartbeat plus the grace a node still counts as alive. Clocks and API stamps count whole milliseconds.
 */
export const FIRST_LATER_MS = 1;

/**
 * Whether a heartbeat is fresh: its stamp differs from `before`, the last one of its kind, even backwards (R2.34).
 * `before` is undefined until the first arrives. Example: a kubelet's clock steps back from 10:05 to 10:00, so its next
 * renewal is stamped five minutes before the last one. It is a heartbeat. Upstream requires a later renewal (R2.38), so
 * a step back of the kubelets' clocks makes live nodes Unknown there. Losing the Ready condition is no heartbeat
 * (R2.36).
 */
export function isFresh(renewedAt: Heartbeat["renewedAt"], before: Heartbeat["renewedAt"] | undefined): boolean {
  return before === undefined || (renewedAt !== null && renewedAt !== before);
}

/**
 * The first instant after a node's grace. Time before the watches were last synced does not count. Example: the last
 * heartbeat arrived at second 100, the watches are synced since second 120, and the grace is 50 s. At second 170 the
 * node still counts as alive, one millisecond later it is silent.
 */
export function silentFromMs(lastHeartbeatMs: number, syncedSinceMs: number | null, graceMs: number): number {
  return Math.max(lastHeartbeatMs, syncedSinceMs ?? lastHeartbeatMs) + graceMs + FIRST_LATER_MS;
}

/**
 * The conditions to force on a silent node, in upstream's order. If Ready is Unknown already, nothing is written
 * (R2.45). A missing condition gets the reason that its kubelet never posted it.
 */
export function conditionsToForce(node: ObservedNode): ForcedCondition[] {
  if (readyConditionOf(node)?.status === "Unknown") return [];
  return FORCED_CONDITIONS.flatMap((type): ForcedCondition[] => {
    const current = node.conditions.find((condition) => condition.type === type);
    if (current?.status === "Unknown") return [];
    const [reason, heartbeatAt] =
      current === undefined ? [SilentReason.never, node.createdAt] : [SilentReason.stopped, null];
    return [{ type, status: "Unknown", ...reason, heartbeatAt }];
  });
}
