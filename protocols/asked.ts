/**
 * Messages that request a change in the API. Each names the desired state and what the decision is based on, so that a
 * writer can check it and a sender can repeat it.
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
 * Body of `asked.condition`: force these conditions on a node that has been silent for its grace. An empty list
 * withdraws the previous request.
 */
export const askedCondition = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  /** The last heartbeats that the verdict is based on; a newer one at the API refutes it. */
  basis: z.object({ leaseRenewedAt: instant.nullable(), statusHeartbeatAt: instant.nullable() }),
  conditions: listOf(
    z.object({
      type: key,
      status: conditionStatus,
      reason: text,
      message: text,
      /** The node's creation time for a condition that the node does not have yet; null otherwise. */
      heartbeatAt: instant.nullable(),
    }),
  ),
});

/** Body of `asked.taint`: add and remove these taints of the node in one patch. */
export const askedTaint = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  /** The node's taints at that resourceVersion, and the recorded swap of them. */
  taints: listOf(taintSchema),
  /** How many further taints the node had; if there are any, the writer reads the node live first. */
  taintsOmitted: count.optional(),
  taintSwap: taintSwapSchema.optional(),
  /** When not-ready and unreachable began to count, by `key:effect`, where `timeAdded` does not show it. */
  taintsSeenAt: instantsByTaint.optional(),
  add: listOf(taintIdSchema.extend({ value: value.optional() })),
  remove: listOf(taintIdSchema),
  /**
   * The Ready status that the request is based on; null when the node has no Ready condition. A different status at the
   * API refutes a harmful request.
   */
  ready: conditionStatus.nullable(),
  /**
   * The proof on which an out-of-service taint is added, and the last known renewal of the node's lease: the live node
   * must show that proof, and the live lease no other renewal. Absent for any other change.
   */
  outOfService: z.object({ provedAt: instant, leaseRenewedAt: instant.nullable() }).optional(),
  /** Why: conditions changed, the zone admitted the node, opposite taints are swapped, or the node is ready again. */
  why: z.enum(["conditions", "granted", "swap", "healing"]),
});

/** Body of `asked.label`: set these labels (R4.26) and annotations on a node. */
export const askedLabel = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  labels: mapOf(value),
  /** Vigil's own annotations; null removes one. */
  annotations: mapOf(annotation.nullable()).optional(),
  /**
   * All taints of the node at that resourceVersion, with a record of when they began and nothing else: the writer then
   * needs no live read. Absent for any other change, and where the node had more taints than a message carries.
   */
  taints: listOf(taintSchema).optional(),
});

/** How a request identifies a pod: the uid is its identity, namespace and name are its address at the API. */
const podTarget = {
  namespace: name,
  name,
  uid: name,
  node: name,
};

/** Body of `asked.eviction`: delete this pod now. Sent at its deadline, and again until the pod is gone or may stay. */
export const askedEviction = z.object({
  ...podTarget,
  /** `taint`: a NoExecute taint evicts the pod; `direct`: its node is drained without taints. */
  mode: z.enum(["taint", "direct"]),
  deadlineAt: instant,
  taint: taintIdSchema.nullable(),
  /** The observed `timeAdded` of that taint, or null; a different one at the API means a different taint. */
  timeAdded: word.nullable().optional(),
  /**
   * When the requester knew the pod to be bound, if the pod's own stamp is later: that stamp was in the future then, or
   * was changed. Absent where the stamp counts.
   */
  boundAt: instant.optional(),
  /** The policy of its node, if that limits the rate of evictions: the pod waits for a permit. Absent for none. */
  policy: name.optional(),
});

/** Body of `asked.unready`: set the Ready condition of this pod to False (R3.2). */
export const askedUnready = z.object({
  ...podTarget,
  /** The version of the pod that was observed ready; while it is current, the writer need not read the pod. */
  resourceVersion: name.optional(),
});

/** Body of `asked.drain`: the zone's rate limiter has admitted this node, so its pods may go (direct mode). */
export const askedDrain = z.object({ node: name, uid: name, zone: name });

/** Body of `asked.resync`: publish everything about one shard again. */
export const askedResync = z.object({ shard, reason: text });
