/** Messages with the state that the API server shows. The observer publishes them; they contain no conclusion. */
import { z } from "zod";
import { checksum, count, instant, listOf, name, shard } from "./bounds.ts";
import { heartbeatSchema, nodeSchema, podSchema, watchStateSchema } from "./objects.ts";

/**
 * A count and two order-free checksums of what the observer has published about a shard (see digest.ts). In a sum of
 * plain hashes, changes of the last digits of two versions may cancel out; older members know only that one.
 */
const digestSchema = z.object({ count, sum: checksum, mixed: checksum.optional() });
/** A count and order-free checksums of a set of versions. */
export type Digest = z.infer<typeof digestSchema>;

/** Body of `observed.node`: a node's full observed state. */
export const observedNode = nodeSchema;

/**
 * Body of `observed.lease`: heartbeats of one shard, coalesced; at most HEARTBEATS_PER_MESSAGE_MAX of them. Those of one
 * node that are published together share a message: its silence counts from the last one.
 */
export const observedLease = z.object({
  shard,
  heartbeats: listOf(heartbeatSchema),
});

/** How many heartbeats one `observed.lease` may carry: with the longest node names they fill 56 of the 64 KiB. */
export const HEARTBEATS_PER_MESSAGE_MAX = 150;

/** Most chunks for the pods of one node; a message that names more is ignored. */
export const PODS_CHUNKS_MAX = 1024;

/**
 * Body of `observed.pods`: every pod bound to one node of interest, in `chunks` parts that share a `version`.
 * A receiver uses a version once it has all parts. A node without pods is one empty chunk.
 */
export const observedPods = z.object({
  node: name,
  /** A checksum of the pods' uids and resource versions. */
  version: name,
  chunk: count,
  chunks: count,
  pods: listOf(podSchema),
});

/** Body of `observed.gone`: a node was deleted, so every actor for this uid ends. */
export const observedGone = z.object({ node: name, uid: name });

/** Most outages that a pulse carries, the last ones; older ones become one over the time between. */
export const OUTAGES_MAX = 8;

/** A time in which no node could be heard; null for an end that has not come. Instants of the API server's clock. */
export const outageSchema = z.object({ fromAt: instant, toAt: instant.nullable() });

/** How leases are not renewed while their nodes are alive. */
export const brokenLeasePathSchema = z.object({
  /** The nodes that have or had a lease. */
  nodes: count,
  /** When a lease of any of them was last seen renewed. */
  renewedAt: instant,
  /** The nodes whose status has arrived since, and when the last one did. */
  posted: count,
  postedAt: instant,
});
/** How leases are not renewed while their nodes are alive. */
export type BrokenLeasePath = z.infer<typeof brokenLeasePathSchema>;

/** Most contested leases that one pulse names: with the longest names they fill 40 of the 64 KiB. */
export const CONTESTED_LEASES_MAX = 16;

/** A lease that may be renewed by another client than the kubelet of its node. */
export const contestedLeaseSchema = z.object({
  node: name,
  /** The uid of the node object that owns the lease, where that is another one than the node's. */
  ownerUid: name.optional(),
  /** The two holders that renew it in turn. */
  holders: z.tuple([name, name]).optional(),
});
/** A lease that may be renewed by something else than the kubelet of its node. */
export type ContestedLease = z.infer<typeof contestedLeaseSchema>;

/**
 * Body of `observed.pulse`: which watches are synced, and a digest of what was published of one shard. A receiver whose
 * own digest differs has missed a message and requests a resync.
 */
export const observedPulse = z.object({
  shard,
  watches: z.object({
    nodes: watchStateSchema,
    leases: watchStateSchema,
    pods: watchStateSchema,
  }),
  /** Over every node of the shard: node name, uid and the resourceVersion last published. */
  nodes: digestSchema,
  /** Over every node of interest in the shard: node name and the pods version last published. */
  pods: digestSchema,
  /** How many resyncs of this shard the observer has finished; a pulse ends each one. */
  resyncs: count,
  /** How many objects of the shard are too large for a message, and so in no digest; absent when there are none. */
  unpublished: z.object({ nodes: count, pods: count }).optional(),
  /** The outages that this observer has found, in order; absent for none. */
  outages: listOf(outageSchema, OUTAGES_MAX).optional(),
  /**
   * Only of shard 0: until when the API server is known to have accepted heartbeats, and the version of the leases from
   * which later renewals can be read.
   */
  heard: z.object({ at: instant, leasesVersion: name.optional() }).optional(),
  /** That no lease of any node is renewed, though statuses still arrive; the same in every shard, absent otherwise. */
  leasePath: brokenLeasePathSchema.optional(),
  /** Contested leases of the shard, at most CONTESTED_LEASES_MAX of them; absent for none. */
  contestedLeases: listOf(contestedLeaseSchema, CONTESTED_LEASES_MAX).optional(),
});
