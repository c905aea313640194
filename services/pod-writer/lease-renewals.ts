/**
 * What is known of the leases of silent nodes before their pods are deleted. A kubelet that returns renews its lease
 * before it posts a status, so the API still shows Ready=Unknown and the taint for some seconds.
 *
 *   node is observed Unknown ──▶ its lease is read ──▶ minutes pass ──▶ a pod is due ──▶ its lease is read again
 *                                      10:00:00                                              10:04:10: it is alive
 *
 * Renewals are compared with each other, never with our clock: the kubelet's may be wrong.
 */
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import {
  type Clock,
  type Io,
  type ObservedLease,
  type ReadReply,
  type ShownReply,
  Urgency,
} from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { projectLease, UNREPORTED } from "../platform/kube/watch/projection.ts";
import { type LiveRead, SingleFlightReads } from "../platform/requests/single-flight-reads.ts";
import { type TryResult, unread } from "../platform/requests/write-jobs.ts";
import { BoundedMap } from "../structures/bounded-map.ts";
import { isFoundSilent, isReported, type KnownLease, leaseAfter } from "./lease.policy.ts";

/** Nodes beyond this are forgotten, the one read least recently first. */
const NODES_MAX = 20_000;

/** What a live read of a lease found: its renewal, null without one, or how an attempt ends without it. */
export type LeaseRead =
  | { readonly kind: "read"; readonly renewedAt: number | null }
  | { readonly kind: "unread"; readonly result: TryResult };

/** The known leases of silent nodes, and live reads of them. */
export class LeaseRenewals {
  readonly #reads: SingleFlightReads<LeaseRead>;
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #known = new BoundedMap<string, KnownLease>(NODES_MAX);

  constructor({ kube, clock, profile }: Pick<Io, "kube" | "clock" | "profile">, keptMs: number) {
    this.#clock = clock;
    this.#graceMs = profile.nodeMonitorGraceMs;
    this.#reads = new SingleFlightReads({
      kube,
      clock,
      keptMs,
      waitersMax: profile.writesInFlightMax,
      project: leaseReadOf,
      readShown: (ref, need, done) =>
        kube.readShown("leases", ref, (reply) => done(reply.outcome === "shown" ? shownLease(reply) : reply), need),
    });
  }

  /** Handles an observed node: its lease is read once when the node is found silent, and forgotten afterwards. */
  onNode(node: ObservedNode): void {
    if (isReported(node)) this.#known.delete(node.node);
    else if (isFoundSilent(node) && !this.#known.has(node.node)) {
      this.read(node.node, (read) => this.apply(node, read, this.#graceMs));
    }
  }

  forget(node: string): void {
    this.#known.delete(node);
  }

  /** Forgets a shard that is no longer followed. */
  drop(shard: number): void {
    for (const node of this.#known.keys()) if (shardOf(node) === shard) this.#known.delete(node);
  }

  /** Reads the lease of a node live, or from a read that was sent at `sentSinceMs` or later and is recent. */
  read(node: string, done: (read: LiveRead<LeaseRead>) => void, sentSinceMs?: number): void {
    const place = { urgency: Urgency.eviction, stepsBefore: 2 } as const;
    this.#reads.read({ kind: "Lease", namespace: LEASE_NAMESPACE, name: node }, done, place, sentSinceMs);
  }

  /** Records a live read of a silent node's lease. Returns what is known then; null for a lease that was not read. */
  apply(node: ObservedNode, { found, readAtMs }: LiveRead<LeaseRead>, graceMs: number): KnownLease | null {
    if (found.kind !== "read") return null;
    const live = { renewedAt: found.renewedAt, readAtMs, freshSinceAt: this.#clock.wallMs() - graceMs };
    const after = leaseAfter(this.#known.get(node.node) ?? null, live, node);
    this.#known.set(node.node, after);
    return after;
  }
}

function shownLease({ object, view: { sentAtMs, readAtMs } }: ShownReply<ObservedLease>): LiveRead<LeaseRead> {
  return { found: { kind: "read", renewedAt: object.renewedAt }, sentAtMs, readAtMs };
}

/** A node without a lease renews none. A lease that cannot be read may have been renewed. */
function leaseReadOf(reply: ReadReply): LeaseRead {
  if (reply.outcome === "gone") return { kind: "read", renewedAt: null };
  if (reply.outcome !== "ok") return { kind: "unread", result: unread("lease", reply) };
  return { kind: "read", renewedAt: projectLease(reply.object, UNREPORTED)?.renewedAt ?? null };
}
