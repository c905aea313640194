/**
 * Messages that wish for a change in the API. Each names the wanted end state and what it was judged on, so that it can
 * be checked and repeated.
 */
import { z } from "zod";
import {
  annotation,
  count,
  instant,
  instantsByTaint,
  key,
  listOf,
  mapOf,
  name,
  shard,
  text,
  value,
  word,
} from "./bounds.ts";
import { conditionStatus, taintIdSchema, taintSchema, taintSwapSchema } from "./objects.ts";

/**
 * Body of `asked.condition`: force these conditions on a node that has been silent for its grace. None takes back what
 * was asked before.
 */
export const askedCondition = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  /** The last signs of life the verdict rests on; a newer one at the API refutes it. */
  basis: z.object({ leaseRenewedAt: instant.nullable(), statusHeartbeatAt: instant.nullable() }),
  conditions: listOf(
    z.object({
      type: key,
      status: conditionStatus,
      reason: text,
      message: text,
      /** Set only for a condition the node does not have yet: its creation time (section 2.8, step F). */
      heartbeatAt: instant.nullable(),
    }),
  ),
});

/** Body of `asked.taint`: in one patch, these taints on the node and those off it. */
export const askedTaint = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  /** The taints the node had at that resourceVersion, and what is recorded about a swap of them. */
  taints: listOf(taintSchema),
  /** How many taints more the node had; with any, the writer reads the node live first. */
  taintsOmitted: count.optional(),
  taintSwap: taintSwapSchema.optional(),
  /** From when not-ready and unreachable count, by `key:effect`, where their `timeAdded` does not say it. */
  taintsSeenAt: instantsByTaint.optional(),
  add: listOf(taintIdSchema),
  remove: listOf(taintIdSchema),
  /**
   * The Ready status the wish rests on; null when the node has no Ready condition. Another one at the API refutes a
   * harmful wish.
   */
  ready: conditionStatus.nullable(),
  /** Why: the conditions changed, the zone's turn came, the opposite taint stood there, or the node is well again. */
  why: z.enum(["conditions", "granted", "swap", "healing"]),
});

/** Body of `asked.label`: set these labels (R4.26) and annotations on a node. */
export const askedLabel = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  labels: mapOf(value),
  /** Annotations of our own; null takes one away. */
  annotations: mapOf(annotation.nullable()).optional(),
});

/** What an ask about a pod names; the uid is the pod, the name is only how the API is asked. */
const podTarget = {
  namespace: name,
  name,
  uid: name,
  node: name,
};

/**
 * Body of `asked.eviction`: delete this pod now. Sent when its deadline has come, and again until the pod is gone or
 * the wish is moot.
 */
export const askedEviction = z.object({
  ...podTarget,
  /** `taint`: a NoExecute taint decided it; `direct`: the node is drained without taints (section 5). */
  mode: z.enum(["taint", "direct"]),
  deadlineAt: instant,
  taint: taintIdSchema.nullable(),
  /** The `timeAdded` of that taint as the asker sees it, null without one: another at the API is another taint. */
  timeAdded: word.nullable().optional(),
});

/** Body of `asked.unready`: set the Ready condition of this pod to False (R3.2). */
export const askedUnready = z.object({
  ...podTarget,
  /** The version of the pod in which the asker saw it ready; while it stands, the pod need not be looked at again. */
  resourceVersion: name.optional(),
});

/** Body of `asked.drain`: the zone's turn has come for this node; its pods may go (direct mode, section 5.6). */
export const askedDrain = z.object({ node: name, uid: name, zone: name });

/** Body of `asked.resync`: tell everything about one shard again. */
export const askedResync = z.object({ shard, reason: text });
