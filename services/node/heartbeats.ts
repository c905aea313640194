/**
 * What one node's actor keeps of its heartbeats: the last of each kind, when the newest was seen, and since when the
 * Ready condition has its status. Others decide what silence means.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import { SilentReason } from "../../protocols/names.ts";
import type { Condition, Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import type { Clock } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { foundTransitionMs } from "./eviction.policy.ts";
import { isFresh } from "./silence.policy.ts";

/** The heartbeats of one node. `…Ms` are on the monotonic clock; stamps (`…At`) are the kubelet's own. */
export class HeartbeatRecord {
  #leaseRenewedAt: number | null | undefined = undefined;
  #statusHeartbeatAt: number | null | undefined = undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  readonly #knownSinceMs: number;
  #witnessedMs = Number.NEGATIVE_INFINITY;
  #isWitnessed = false;
  #cause: string | null = null;

  /**
   * Counts `knownSinceMs` as a heartbeat until the first status arrives. Every node has a status, so until then its
   * message was lost, and a lease that arrived alone may have been abandoned long ago.
   */
  constructor(knownSinceMs: number) {
    this.#knownSinceMs = knownSinceMs;
  }

  get lastMs(): number {
    return this.isStatusKnown ? this.#lastMs : Math.max(this.#lastMs, this.#knownSinceMs);
  }

  /**
   * When a heartbeat was last seen to arrive; minus infinity before. A heartbeat that was found at a start may be old,
   * so it does not count. Neither does a restarted grace.
   */
  get witnessedMs(): number {
    return this.#witnessedMs;
  }

  /** Id of the message that carried the last heartbeat: the cause of what its absence leads to. */
  get cause(): string | null {
    return this.#cause;
  }

  get isStatusKnown(): boolean {
    return this.#statusHeartbeatAt !== undefined;
  }

  /** The stamps that a verdict rests on. A node without a Ready condition shows no status heartbeat (R2.36). */
  basisFor(node: Pick<ObservedNode, "conditions">): BodyOf<"asked.condition">["basis"] {
    const hasReady = readyConditionOf(node) !== null;
    return {
      leaseRenewedAt: this.#leaseRenewedAt ?? null,
      statusHeartbeatAt: hasReady ? (this.#statusHeartbeatAt ?? null) : null,
    };
  }

  /** Records a heartbeat seen at `seenMs`, which may be before the node was known. Returns whether it is fresh. */
  record({ kind, renewedAt }: Pick<Heartbeat, "kind" | "renewedAt">, seenMs: number, cause: string): boolean {
    const before = kind === "lease" ? this.#leaseRenewedAt : this.#statusHeartbeatAt;
    if (!isFresh(renewedAt, before)) return false;
    this.#lastMs = Math.max(this.#lastMs, seenMs);
    if (before !== undefined) {
      this.#witnessedMs = Math.max(this.#witnessedMs, seenMs);
      this.#isWitnessed = true;
    }
    this.#cause = cause;
    if (kind === "lease") this.#leaseRenewedAt = renewedAt;
    else this.#statusHeartbeatAt = renewedAt;
    return true;
  }

  /**
   * Records the stamp of an observed Ready condition, which may arrive before the batch that carries the same one.
   * Returns whether it is fresh.
   */
  recordReady(ready: Condition | null, nowMs: number, cause: string): boolean {
    if (!this.isStatusKnown) return false;
    const renewedAt = ready?.heartbeatAt ?? null;
    if (ready?.reason !== SilentReason.never.reason || renewedAt === null) {
      return this.record({ kind: "status", renewedAt }, nowMs, cause);
    }
    this.#recordWritten(renewedAt);
    return false;
  }

  /**
   * Records a status stamp that the kubelet did not write: the Ready condition of a node that has never posted is
   * written for it, with the node's creation as its heartbeat (R2.32). It is no heartbeat.
   */
  #recordWritten(renewedAt: number): void {
    this.#statusHeartbeatAt = renewedAt;
  }

  /** Counts the node as alive at an instant: a live read found a heartbeat, or every node's grace restarted. */
  rebase(atMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, atMs);
    this.#isWitnessed = true;
  }

  /** Whether the last heartbeat was seen to arrive, or its lease is stamped later than `transitionAt`. */
  isWitnessedAfter(transitionAt: number): boolean {
    return this.#isWitnessed || (this.#leaseRenewedAt ?? Number.NEGATIVE_INFINITY) > transitionAt;
  }
}

/**
 * The last transition of one node's Ready condition, on the monotonic clock. A transition seen to happen counts from
 * that instant. One found at a start is dated by the stamps that the API shows.
 */
export class ReadyTransition {
  #ms: number;
  /** The end of the last halt, which restarts every timeout. */
  #haltEndedMs = Number.NEGATIVE_INFINITY;
  /** When the node was found; null once its transition is dated. */
  #foundMs: number | null;
  readonly #heartbeatAt: number | null;
  #ready: Condition | null;

  constructor(node: Pick<ObservedNode, "conditions" | "createdAt">, clock: Clock) {
    // In this order an interruption between the reads makes the transition late, not early.
    const wallMs = clock.wallMs();
    const nowMs = clock.monotonicMs();
    const ready = readyConditionOf(node);
    this.#ms = foundTransitionMs(ready, { createdAt: node.createdAt, wallMs, nowMs });
    this.#heartbeatAt = ready?.heartbeatAt ?? null;
    this.#ready = ready;
    const isPostedByKubelet = ready !== null && ready.status !== "Unknown";
    this.#foundMs = isPostedByKubelet ? nowMs : null;
  }

  get ms(): number {
    return this.#ms;
  }

  /** Where a timeout of the condition begins: at the transition, or at the end of a halt after it. */
  get timeoutFromMs(): number {
    return Math.max(this.#ms, this.#haltEndedMs);
  }

  /** Records an observed state of the node. */
  observe(node: Pick<ObservedNode, "conditions">, nowMs: number): void {
    const [before, ready] = [this.#ready, readyConditionOf(node)];
    this.#ready = ready;
    if (before?.transitionAt === ready?.transitionAt && before?.status === ready?.status) return;
    this.#ms = Math.max(this.#ms, nowMs);
    this.#foundMs = null;
  }

  /** Every timeout restarts at the end of a halt. The condition is what it was. Returns whether this end is new. */
  restartAfterHalt(endedMs: number): boolean {
    if (endedMs <= this.#haltEndedMs) return false;
    this.#haltEndedMs = endedMs;
    return true;
  }

  /**
   * Moves the transition back when an observer first saw the heartbeat it is dated by before this process found the
   * node. Returns whether it moved.
   */
  backdate(heartbeatAt: number | null, seenMs: number): boolean {
    if (this.#foundMs === null || heartbeatAt === null || heartbeatAt !== this.#heartbeatAt) return false;
    const olderMs = Math.max(0, this.#foundMs - seenMs);
    this.#ms -= olderMs;
    this.#foundMs = null;
    return olderMs > 0;
  }
}
