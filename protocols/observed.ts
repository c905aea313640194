/** Messages with the state that the API server shows. The observer publishes them; they hold no conclusion. */
import { z } from "zod";
import { checksum, count, listOf, name, shard } from "./bounds.ts";
import { heartbeatSchema, nodeSchema, podSchema, watchStateSchema } from "./objects.ts";

/** A count and an order-free checksum of what the observer has published about a shard (see digest.ts). */
const digestSchema = z.object({ count, sum: checksum });
/** A count and an order-free checksum of a set of versions. */
export type Digest = z.infer<typeof digestSchema>;

/** Body of `observed.node`: a node's whole observed state. */
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
});
