/** The concern of `unhealthyDelay`: a node whose kubelet reports Ready=False waits for eviction only after a while. */
import type { Io } from "../../../../protocols/ports.ts";
import { nodeFreezeOf } from "../../../domain/freeze.ts";
import { publishedInstant } from "../../published-instant.ts";
import type { Concern, Finding, PolicyView } from "../concern.ts";
import { pausedTime } from "../pause.ts";
import { delayedUntilMs } from "./eviction-delay.policy.ts";

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
    // A freeze without an end has no instant.
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
