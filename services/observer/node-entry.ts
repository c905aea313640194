/** What the observer knows of one node name: its state, its lease, and which versions of both it has published. */
import { nodeVersion } from "../../protocols/digest.ts";
import type { Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import type { ContestedLease } from "../../protocols/observed.ts";
import type { ObservedLease } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { alternatingHolders, contestOf, holdersAfter, type LeaseHolders } from "./contested-lease.policy.ts";

/** When an earlier observer first saw this exact stamp, on our monotonic clock; null if it did not. */
export type SeenBefore = (node: string, kind: Heartbeat["kind"], renewedAt: number | null) => number | null;

/** A kubelet's stamp; `seenMs` is when it was first seen, on the monotonic clock. */
export interface KnownHeartbeat extends Pick<Heartbeat, "node" | "kind" | "renewedAt"> {
  readonly seenMs: number;
}

/** One node name. Instants are on the monotonic clock; a lease may be known before its node is. */
export class NodeEntry {
  readonly name: string;
  node: ObservedNode | null = null;
  /** The version of the node last published; null while none is. */
  publishedVersion: string | null = null;
  /** The version of its pods last published; null while none is. */
  publishedPodsVersion: string | null = null;
  #statusSeenMs = 0;
  #leaseRenewedAt: number | null | undefined = undefined;
  #leaseSeenMs = 0;
  /** The uid of the node object that owns the lease; null for none. */
  #ownerUid: string | null = null;
  /** Null while only the node has renewed the lease. */
  #holders: LeaseHolders | null = null;
  hadLease = false;
  #isStatusUnsent = false;
  #isLeaseUnsent = false;

  constructor(name: string) {
    this.name = name;
  }

  /** The renewTime of the lease; undefined when there is no lease. */
  get leaseRenewedAt(): number | null | undefined {
    return this.#leaseRenewedAt;
  }

  /** The present version of the node; null without a node. */
  get version(): string | null {
    return this.node === null ? null : nodeVersion(this.node);
  }

  /**
   * Records a newer state. A new node and a new stamp of the Ready condition are heartbeats; the loss of the condition
   * is not. Returns how long the node was silent before the heartbeat; null if there is none.
   */
  onNode(node: ObservedNode, nowMs: number, seenBefore: SeenBefore): number | null {
    const isNew = this.node?.uid !== node.uid;
    const before = this.node === null ? null : heartbeatAtOf(this.node);
    const after = heartbeatAtOf(node);
    this.node = node;
    if (!isNew && (after === null || after === before)) return null;
    const silentMs = nowMs - this.#lastHeartbeatMs;
    this.#statusSeenMs = (isNew ? seenBefore(this.name, "status", after) : null) ?? nowMs;
    this.#isStatusUnsent = true;
    // Readers of a new node have not received the lease that was seen under its name before.
    this.#isLeaseUnsent ||= isNew && this.#leaseRenewedAt !== undefined;
    return silentMs;
  }

  /** Records the lease's renewTime; a changed one is a heartbeat. Returns what onNode does. */
  onLease(renewedAt: number | null, seenMs: number, seenBefore: SeenBefore): number | null {
    if (this.#leaseRenewedAt === renewedAt) return null;
    this.hadLease = true;
    const silentMs = seenMs - this.#lastHeartbeatMs;
    this.#leaseRenewedAt = renewedAt;
    this.#leaseSeenMs = seenBefore(this.name, "lease", renewedAt) ?? seenMs;
    this.#isLeaseUnsent = true;
    return silentMs;
  }

  /** Records the owner and the holder of the lease. Returns whether `contest` may have changed. */
  onLeaseOwner({ ownerUid, holder = this.name }: ObservedLease, nowMs: number): boolean {
    const isRenewal = ownerUid === undefined || ownerUid === this.#ownerUid;
    if (!isRenewal) this.#ownerUid = ownerUid;
    if (this.#holders === null && holder === this.name) return !isRenewal;
    const before = this.#holders ?? { holder: this.name, other: null, changesMs: [] };
    this.#holders = holdersAfter(before, holder, nowMs);
    return true;
  }

  /** How its lease is contested; null if it is not, or without a node. */
  contest(nowMs: number): ContestedLease | null {
    const holders = this.#holders === null ? null : alternatingHolders(this.#holders, nowMs);
    return this.node === null ? null : contestOf(this.node, this.#ownerUid, holders);
  }

  dropLease(): void {
    this.#leaseRenewedAt = undefined;
    this.#ownerUid = null;
    this.#holders = null;
    this.#isLeaseUnsent = false;
  }

  /**
   * Returns the last heartbeat of each kind, or only those not sent yet, and counts them as sent. `seenAt` is computed
   * from the wall clock as it is now, so that steps of that clock do no harm.
   */
  collectHeartbeats(which: "all" | "unsent", wallMs: number, nowMs: number): Heartbeat[] {
    const heartbeats: Heartbeat[] = [];
    if (this.node === null) return heartbeats;
    const offsetMs = wallMs - nowMs;
    if (which === "all" || this.#isStatusUnsent) {
      const status = this.#heartbeat("status", heartbeatAtOf(this.node), this.#statusSeenMs + offsetMs);
      heartbeats.push({ ...status, resourceVersion: this.node.resourceVersion });
    }
    if (this.#leaseRenewedAt !== undefined && (which === "all" || this.#isLeaseUnsent)) {
      heartbeats.push(this.#heartbeat("lease", this.#leaseRenewedAt, this.#leaseSeenMs + offsetMs));
    }
    this.#isStatusUnsent = false;
    this.#isLeaseUnsent = false;
    return heartbeats;
  }

  /** The last heartbeat of each kind, sent or not. */
  *knownHeartbeats(): Generator<KnownHeartbeat> {
    const { name } = this;
    if (this.node !== null) {
      yield { node: name, kind: "status", renewedAt: heartbeatAtOf(this.node), seenMs: this.#statusSeenMs };
    }
    if (this.#leaseRenewedAt !== undefined) {
      yield { node: name, kind: "lease", renewedAt: this.#leaseRenewedAt, seenMs: this.#leaseSeenMs };
    }
  }

  get #lastHeartbeatMs(): number {
    return Math.max(this.#statusSeenMs, this.#leaseSeenMs);
  }

  #heartbeat(kind: Heartbeat["kind"], renewedAt: number | null, seenAt: number): Heartbeat {
    return { node: this.name, kind, renewedAt, seenAt };
  }
}

function heartbeatAtOf(node: ObservedNode): number | null {
  return readyConditionOf(node)?.heartbeatAt ?? null;
}
