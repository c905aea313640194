/** When `unhealthyDelay` of a policy lets a node wait for eviction. It reads no clock. */
import type { Readiness } from "../../../../protocols/judged.ts";
import { type PausedTime, silenceCountdownEndAt } from "../../../domain/paused-time/outages.ts";

/**
 * Until when `unhealthyDelay` of its policy keeps a node from waiting for eviction, on the clock of `transitionMs`;
 * minus infinity for a node that its kubelet does not report as not ready. Example: with 10 s, a kubelet that restarts
 * and reports Ready=False for 2 s never makes its node wait. Frozen time and outages do not count.
 */
export function delayedUntilMs(
  readiness: Readiness,
  { transitionMs, delayMs }: { readonly transitionMs: number; readonly delayMs: number | null },
  paused: PausedTime = {},
): number {
  if (readiness !== "notReady" || delayMs === null) return Number.NEGATIVE_INFINITY;
  return silenceCountdownEndAt(transitionMs, delayMs, paused);
}
