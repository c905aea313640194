/** When a pod is deleted that the Eviction API refuses, by its policy. It reads no clock. */
import type { EvictionSettings, FrozenInterval } from "../../protocols/policy-set.ts";
import { type OutageTime, silenceCountdownEndAt } from "./paused-time/outages.ts";

/** When an eviction was due, and when its node was and is frozen, in epoch milliseconds. */
export interface RefusedEviction {
  readonly deadlineAt: number;
  readonly frozen: readonly FrozenInterval[];
  /** The outages that pause the eviction; absent for none. */
  readonly outages?: OutageTime;
}

/**
 * When a pod is deleted although its eviction is refused, in epoch milliseconds; null for never. Frozen time and
 * outages do not count. Example: an eviction is due at 12:00 and `deleteAfter` is 10 min. A freeze from 12:05 to 12:20
 * pauses it, so the pod is deleted at 12:25.
 */
export function deleteAt(
  { method, deleteAfterMs }: Pick<EvictionSettings, "method" | "deleteAfterMs">,
  { deadlineAt, ...paused }: RefusedEviction,
): number | null {
  return method === "EvictThenDelete" && deleteAfterMs !== null
    ? silenceCountdownEndAt(deadlineAt, deleteAfterMs, paused)
    : null;
}
