/**
 * Since when a node's Ready condition has had its status, on the monotonic clock. A transition that is seen to happen
 * counts from that instant; one that is found at a start counts from what the API tells of it.
 */
import type { Condition, ObservedNode } from "../../protocols/objects.ts";
import type { Clock } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { foundTransitionMs } from "./eviction.policy.ts";

/** The last transition of one node's Ready condition. */
export class ReadyTransition {
  #ms: number;
  /** When the node was found, until the heartbeat that its condition showed then is known to be older. */
  #foundMs: number | null;
  readonly #heartbeatAt: number | null;

  constructor(node: Pick<ObservedNode, "conditions" | "createdAt">, clock: Clock) {
    const nowMs = clock.monotonicMs();
    const ready = readyConditionOf(node);
    this.#ms = foundTransitionMs(ready, { createdAt: node.createdAt, wallMs: clock.wallMs(), nowMs });
    this.#heartbeatAt = ready?.heartbeatAt ?? null;
    this.#foundMs = isPostedByKubelet(ready) ? nowMs : null;
  }

  get ms(): number {
    return this.#ms;
  }

  /** Counts from now: the condition was seen to change, or every node gets its time again. */
  restart(nowMs: number): void {
    this.#ms = nowMs;
    this.#foundMs = null;
  }

  /**
   * Takes when a status heartbeat was first seen: an observer may have held that of a found node for long. Returns
   * whether the transition is older for it.
   */
  hear(heartbeatAt: number | null, seenMs: number): boolean {
    if (this.#foundMs === null || heartbeatAt === null || heartbeatAt !== this.#heartbeatAt) return false;
    const olderMs = Math.max(0, this.#foundMs - seenMs);
    this.#ms -= olderMs;
    this.#foundMs = null;
    return olderMs > 0;
  }
}

function isPostedByKubelet(ready: Condition | null): boolean {
  return ready !== null && ready.status !== "Unknown";
}
