/**
 * What the observer holds of one node name: its state, its lease, and what of both was told. It decides only what is
 * news.
 */
import { nodeVersion } from "../../protocols/digest.ts";
import type { Heartbeat, ObservedNode } from "../../protocols/objects.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";

/** When an earlier observer first saw this very stamp, on our monotonic clock; null when it did not. */
export type SeenBefore = (node: string, kind: Heartbeat["kind"], renewedAt: number | null) => number | null;

/** A stamp of a kubelet, and when it was first seen on the monotonic clock. */
export interface KnownHeartbeat extends Pick<Heartbeat, "node" | "kind" | "renewedAt"> {
  readonly seenMs: number;
}

/** One node name. Instants are on the monotonic clock; a lease may be known before its node is. */
export class NodeEntry {
  readonly name: string;
  node: ObservedNode | null = null;
  /** The version under which the node was told; null while it was not. */
  publishedVersion: string | null = null;
  /** The version under which its pods were told; null while they were not. */
  publishedPodsVersion: string | null = null;
  #statusSeenMs = 0;
  #leaseRenewedAt: number | null | undefined = undefined;
  #leaseSeenMs = 0;
  #isStatusUnsent = false;
  #isLeaseUnsent = false;

  constructor(name: string) {
    this.name = name;
  }

  /** The renewTime of the lease; undefined when there is no lease. */
  get leaseRenewedAt(): number | null | undefined {
    return this.#leaseRenewedAt;
  }

  /** The version the node has now. */
  get version(): string | null {
    return this.node === null ? null : nodeVersion(this.node.uid, this.node.resourceVersion);
  }

  /**
   * Takes a newer state. First sight and every new heartbeat stamp are signs of life; losing the Ready condition is
   * none. Returns how long the node had been silent before the sign; null when it was none.
   */
  takeNode(node: ObservedNode, nowMs: number, seenBefore: SeenBefore): number | null {
    const isNew = this.node?.uid !== node.uid;
    const before = this.node === null ? null : heartbeatAtOf(this.node);
    const after = heartbeatAtOf(node);
    this.node = node;
    if (!isNew && (after === null || after === before)) return null;
    const silentMs = nowMs - this.#lastHeartbeatMs;
    this.#statusSeenMs = (isNew ? seenBefore(this.name, "status", after) : null) ?? nowMs;
    this.#isStatusUnsent = true;
    // A new node, or one under an old name: what was seen of its lease before is told to its new readers.
    this.#isLeaseUnsent ||= isNew && this.#leaseRenewedAt !== undefined;
    return silentMs;
  }

  /** Takes the lease's renewTime; any other one than before is a sign of life. Returns as takeNode does. */
  takeLease(renewedAt: number | null, nowMs: number, seenBefore: SeenBefore): number | null {
    if (this.#leaseRenewedAt === renewedAt) return null;
    const silentMs = nowMs - this.#lastHeartbeatMs;
    this.#leaseRenewedAt = renewedAt;
    this.#leaseSeenMs = seenBefore(this.name, "lease", renewedAt) ?? nowMs;
    this.#isLeaseUnsent = true;
    return silentMs;
  }

  dropLease(): void {
    this.#leaseRenewedAt = undefined;
    this.#isLeaseUnsent = false;
  }

  /**
   * Signs of life to send: the last of each kind, or only those not sent yet. They count as sent from now on. When they
   * were seen is told on the wall clock as it stands now, so that its steps do no harm.
   */
  takeHeartbeats(which: "all" | "unsent", wallMs: number, nowMs: number): Heartbeat[] {
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

  /** The last sign of each kind and when it was seen, sent or not. */
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
