/** The concern of `unhealthyDelay`: a node whose kubelet reports Ready=False waits for eviction only after a while. */

import type { Readiness } from "../../../../protocols/judged.ts";
import type { Io } from "../../../../protocols/ports.ts";
import { nodeFreezeOf } from "../../../domain/freeze.ts";
import { type PausedTime, silenceCountdownEndAt } from "../../../domain/paused-time/outages.ts";
import { publishedInstant } from "../../published-instant.ts";
import type { Concern, Finding, PolicyView } from "../concern.ts";
import { pausedTime } from "../pause.ts";

/** Delays the eviction of one node. */
export class EvictionDelay implements Concern {
  readonly #io: Pick<Io, "policies">;
  /** Until when, as published last, in epoch milliseconds. */
  #publishedAt: number | undefined = undefined;

  constructor(io: Pick<Io, "policies">) {
    this.#io = io;
  }

  review(view: PolicyView): Finding {
    const delayMs = view.policy?.unhealthyDelayMs ?? null;
    const untilMs = delayMs === null ? null : this.#untilMs(view, delayMs);
    const isDelayed = untilMs !== null && view.at.nowMs < untilMs;
    // A freeze without an end gives no instant.
    const isDated = isDelayed && Number.isFinite(untilMs);
    this.#publishedAt = isDated ? publishedInstant(this.#publishedAt, untilMs, view.at) : undefined;
    return {
      ...(this.#publishedAt === undefined ? {} : { judged: { unhealthyDelay: { untilAt: this.#publishedAt } } }),
      ...(untilMs === null ? {} : { evictableFromMs: untilMs }),
      ...(isDelayed ? { nextMs: untilMs } : {}),
    };
  }

  #untilMs({ node, readiness, timeoutFromMs, outages, at }: PolicyView, delayMs: number): number {
    const reported = { transitionMs: timeoutFromMs, delayMs };
    if (readiness !== "notReady") return delayedUntilMs(readiness, reported);
    const { frozen } = nodeFreezeOf(node, this.#io.policies.current(), at.wallMs);
    return delayedUntilMs(readiness, reported, pausedTime(frozen, outages, at));
  }
}

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
