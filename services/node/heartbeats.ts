/**
 * What is remembered of one node's life: the last heartbeat of each kind, when the last of all was seen, and since when
 * its Ready condition has had its status. What silence means is decided in the policy.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Condition, Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import type { Clock } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { foundTransitionMs } from "./eviction.policy.ts";
import { isFresh } from "./silence.policy.ts";

/** Signs of life. Instants are on the monotonic clock, stamps are the kubelet's own. */
export class HeartbeatRecord {
  #leaseRenewedAt: number | null | undefined = undefined;
  #statusHeartbeatAt: number | null | undefined = undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  readonly #knownSinceMs: number;
  #witnessedMs = Number.NEGATIVE_INFINITY;
  #isWitnessed = false;
  #cause: string | null = null;

  /**
   * The moment at which the node came to be known stands for a sign until its status was told, which each node has: a
   * lease alone, told while the message about the status was lost, may be long out of use.
   */
  constructor(knownSinceMs: number) {
    this.#knownSinceMs = knownSinceMs;
  }

  /** When the last sign was seen. */
  get lastMs(): number {
    return this.isStatusKnown ? this.#lastMs : Math.max(this.#lastMs, this.#knownSinceMs);
  }

  /**
   * When the last sign was seen to come; minus infinity when none was. Neither one that was found at a start, which may
   * be long past, nor a grace that is given again.
   */
  get witnessedMs(): number {
    return this.#witnessedMs;
  }

  /** Id of the message that told the last sign: the cause of whatever its absence leads to. */
  get cause(): string | null {
    return this.#cause;
  }

  /** Whether the status heartbeat is known, so that another one is news. */
  get isStatusKnown(): boolean {
    return this.#statusHeartbeatAt !== undefined;
  }

  /**
   * The stamps a verdict rests on. A node that has no Ready condition, or lost it, shows no heartbeat either (R2.36).
   */
  basisFor(node: Pick<ObservedNode, "conditions">): BodyOf<"asked.condition">["basis"] {
    const hasReady = readyConditionOf(node) !== null;
    return {
      leaseRenewedAt: this.#leaseRenewedAt ?? null,
      statusHeartbeatAt: hasReady ? (this.#statusHeartbeatAt ?? null) : null,
    };
  }

  /** Takes a sign seen at `readAtMs`, which may be before the node came to be known. Returns whether it was news. */
  take({ kind, renewedAt }: Pick<Heartbeat, "kind" | "renewedAt">, seenMs: number, cause: string): boolean {
    const before = kind === "lease" ? this.#leaseRenewedAt : this.#statusHeartbeatAt;
    if (!isFresh(renewedAt, before)) return false;
    this.#lastMs = Math.max(this.#lastMs, seenMs);
    const isWitnessed = before !== undefined;
    if (isWitnessed) this.#witnessedMs = Math.max(this.#witnessedMs, seenMs);
    this.#isWitnessed ||= isWitnessed;
    this.#cause = cause;
    if (kind === "lease") this.#leaseRenewedAt = renewedAt;
    else this.#statusHeartbeatAt = renewedAt;
    return true;
  }

  /**
   * Counts the node as alive at this moment: someone who looked found it so, or every node is given its grace again.
   */
  rebase(nowMs: number): void {
    this.#lastMs = nowMs;
    this.#isWitnessed = true;
  }

  /**
   * Whether the last sign was seen to come, or is at least younger by its stamp than `transitionAt`; else it was only
   * found.
   */
  isWitnessedAfter(transitionAt: number): boolean {
    return this.#isWitnessed || (this.#leaseRenewedAt ?? Number.NEGATIVE_INFINITY) > transitionAt;
  }
}

/**
 * The last transition of one node's Ready condition, on the monotonic clock. One that is seen to happen counts from
 * that instant; one that is found at a start counts from what the API shows of it.
 */
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
