/**
 * The parts of Kubernetes objects that messages carry, as schemas with inferred types. Instants are epoch milliseconds.
 */
import { z } from "zod";
import {
  annotation,
  checksum,
  count,
  instant,
  instantsByTaint,
  int64Seconds,
  key,
  keysByTaint,
  listOf,
  mapOf,
  name,
  text,
  value,
  word,
} from "./bounds.ts";
import { DOWN_PROOFS } from "./names.ts";

/**
 * A taint exactly as the API shows it, so that foreign taints are written back unchanged; identity is (key, effect).
 */
export const taintSchema = z.object({
  key,
  value: value.optional(),
  effect: word,
  timeAdded: word.optional(),
});
/** A taint as the API shows it. */
export type Taint = z.infer<typeof taintSchema>;

/** The identity of a taint (R4.1): value and timeAdded are no part of it. */
export const taintIdSchema = z.object({ key, effect: word });
/** The identity of a taint. */
export type TaintId = z.infer<typeof taintIdSchema>;

/** A pod's toleration as the API shows it; without `tolerationSeconds` it tolerates for ever. */
const tolerationSchema = z.object({
  key: key.optional(),
  operator: word.optional(),
  value: value.optional(),
  effect: word.optional(),
  tolerationSeconds: int64Seconds.optional(),
});
/** A pod's toleration as the API shows it. */
export type Toleration = z.infer<typeof tolerationSchema>;

/** The status of a condition. A condition with any other status is treated as absent. */
export const conditionStatus = z.enum(["True", "False", "Unknown"]);
/** The status of a condition. */
export type ConditionStatus = z.infer<typeof conditionStatus>;

/** A node condition, without its message, on which no decision depends. */
const conditionSchema = z.object({
  type: key,
  status: conditionStatus,
  reason: text.optional(),
  heartbeatAt: instant.nullable(),
  transitionAt: instant.nullable(),
});
/** A node condition. */
export type Condition = z.infer<typeof conditionSchema>;

/**
 * A swap of Vigil's two NoExecute taints, not-ready and unreachable, as Annotation.taintSwap records it. `at` is the
 * `timeAdded` of the present taint; the record does not apply to a taint with another `timeAdded`. The lineage of swaps
 * began with `firstKey` at `firstAt`, and the opposite taint first appeared at `secondAt`.
 */
export const taintSwapSchema = z.object({ at: instant, firstKey: key, firstAt: instant, secondAt: instant });
/** A swap of Vigil's two NoExecute taints. */
export type TaintSwap = z.infer<typeof taintSwapSchema>;

/** How long Vigil has observed a condition with its status, as Annotation.conditions records it. */
const conditionSightingSchema = z.object({
  type: key,
  status: conditionStatus,
  since: instant,
  /** The transition time of the condition at its last observation; null where it has none. */
  transitionAt: instant.nullable(),
});
/** How long Vigil has observed a condition with its status. */
export type ConditionSighting = z.infer<typeof conditionSightingSchema>;
/** A proof that the machine of a node is off, as Annotation.provedDown records it. */
const downProofSchema = z.object({ proof: z.enum(DOWN_PROOFS), by: text, at: instant, reason: text });
/** A proof that the machine of a node is off. */
export type DownProof = z.infer<typeof downProofSchema>;

/**
 * A maintenance window: a time in which a condition has frozen a node, as Annotation.holds records it; null while it
 * lasts.
 */
const conditionHoldSchema = z.object({ type: key, fromAt: instant, toAt: instant.nullable() });
/** A maintenance window of a node. */
export type ConditionHold = z.infer<typeof conditionHoldSchema>;

/**
 * What shadow mode would have written to a node and has not: a verdict with the heartbeats it is based on, taints with
 * the stamps they would have had, and taints that would be gone.
 */
const nodeShadowSchema = z.object({
  verdict: z
    .object({
      at: instant,
      leaseRenewedAt: instant.nullable(),
      statusHeartbeatAt: instant.nullable(),
      conditions: listOf(conditionSchema),
    })
    .optional(),
  added: listOf(taintSchema).optional(),
  removed: listOf(taintSchema).optional(),
});
/** What shadow mode would have written to a node and has not. */
export type NodeShadow = z.infer<typeof nodeShadowSchema>;

/** One write to a node that shadow mode has not sent. Null deletes an annotation. */
export const nodeShadowChangeSchema = nodeShadowSchema.extend({
  labels: mapOf(value).optional(),
  annotations: mapOf(annotation.nullable()).optional(),
});
/** One write to a node that shadow mode has not sent. */
export type NodeShadowChange = z.infer<typeof nodeShadowChangeSchema>;

/** When shadow mode would have set a pod's Ready condition to False, and when it would have deleted the pod. */
export const podShadowSchema = z.object({ unreadyAt: instant.optional(), deletedAt: instant.optional() });
/** What shadow mode would have written to a pod and has not. */
export type PodShadow = z.infer<typeof podShadowSchema>;

/** Most taints of a node that are published: with the longest keys and values they take half of a message. */
export const TAINTS_MAX = 64;

/** The observed state of a node: the body of `observed.node` and the projection of the API object. */
export const nodeSchema = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  createdAt: instant,
  /** Only the labels named in OBSERVED_LABELS, and those that policies select by. */
  labels: mapOf(value),
  /** The checksum of the labels and conditions that policies name, as the observer knew them; absent for none. */
  policyLabels: checksum.optional(),
  unschedulable: z.boolean(),
  taints: listOf(taintSchema),
  /**
   * How many further taints the node has; absent when `taints` holds all. No decision depends on the omitted ones, and
   * a patch of the taints begins with a live read.
   */
  taintsOmitted: count.optional(),
  /** Only the types named in ConditionType, and those that policies name; one of each. */
  conditions: listOf(conditionSchema),
  /**
   * Annotation.taintsSeen for taints that the node carries: from when they count, by `key:effect`; absent without that
   * annotation.
   */
  taintsSeenAt: instantsByTaint.optional(),
  /** Set when that annotation holds anything else, such as entries of removed taints, and must be rewritten. */
  taintsSeenStale: z.boolean().optional(),
  /** Annotation.taintSwap; absent without that annotation. */
  taintSwap: taintSwapSchema.optional(),
  /** Annotation.readyTransitions, in order; absent without that annotation. */
  readyTransitionsAt: listOf(instant).optional(),
  /** Annotation.conditions; absent without that annotation. */
  conditionSightings: listOf(conditionSightingSchema).optional(),
  /** Annotation.holds; absent without that annotation. */
  holds: listOf(conditionHoldSchema).optional(),
  /** Annotation.conditionTaints: types of conditions by the `key:effect` of their taints; absent without it. */
  conditionTaints: keysByTaint.optional(),
  /** Annotation.provedDown; absent without that annotation. */
  provedDown: downProofSchema.optional(),
  /** Annotation.outOfService: the stamp of Vigil's own out-of-service taint; absent without that annotation. */
  outOfServiceAt: instant.optional(),
  /**
   * The client that wrote its Ready=Unknown, and the one that wrote its NoExecute taints or the full list of taints
   * since, by the API's managedFields; absent for a node without them, and where the API does not show it.
   */
  writtenBy: z.object({ ready: name.optional(), taints: name.optional() }).optional(),
  /** The part of this state that only shadow mode shows; absent when the API shows all of it. */
  shadow: nodeShadowSchema.optional(),
});
/** The observed state of a node. */
export type ObservedNode = z.infer<typeof nodeSchema>;

/** A heartbeat: a lease renewal, or a new heartbeat time in the Ready condition. */
export const heartbeatSchema = z.object({
  node: name,
  kind: z.enum(["lease", "status"]),
  /**
   * The kubelet's timestamp (renewTime or lastHeartbeatTime); compared with earlier ones, never with a clock (R2.39).
   */
  renewedAt: instant.nullable(),
  /** When the observer received it, on its wall clock; only the distance from the frame's `at` has meaning. */
  seenAt: instant,
  /**
   * The node's version after a status heartbeat, which changes the version without an `observed.node`. A write to the
   * node must name the newest version.
   */
  resourceVersion: name.optional(),
});
/** A heartbeat of a node. */
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** The observed state of a pod that is bound to a node. */
export const podSchema = z.object({
  namespace: name,
  name,
  uid: name,
  phase: word,
  /** Status of the pod's Ready condition; null when it has none (R3.5). */
  ready: conditionStatus.nullable(),
  tolerations: listOf(tolerationSchema),
  /** Kind of the controlling owner, such as `DaemonSet`; null when there is none. */
  owner: key.nullable(),
  /** The uid of that owner; absent without one. */
  ownerUid: name.optional(),
  createdAt: instant,
  /** When the pod was bound: its PodScheduled condition, else its start time, else its creation. */
  boundAt: instant,
  /** The pod's deletionTimestamp; null while it is not terminating. */
  deletionAt: instant.nullable(),
  /** Set for the mirror of a static pod, which its kubelet creates again for as long as the manifest exists. */
  mirror: z.boolean().optional(),
  /** The generation of its spec, which a condition names as observed; absent where the API has none. */
  generation: count.optional(),
  /** The precondition of a write; absent in a BoundPod, which has it beside the pod. */
  resourceVersion: name.optional(),
  /** The part of this state that only shadow mode shows; absent when the API shows all of it. */
  shadow: podShadowSchema.optional(),
});
/** The observed state of a pod that is bound to a node. */
export type ObservedPod = z.infer<typeof podSchema>;

/** Whether the observer's watch of one resource is synced, and since when without a break. */
export const watchStateSchema = z.object({
  synced: z.boolean(),
  /** Since when it has been synced without a break, on the observer's wall clock; null while not synced. */
  since: instant.nullable(),
  /**
   * When it was last synced, on the observer's wall clock, if the loss was detected late: until the detection it was
   * reported as synced. Absent while synced, and when the loss was detected at once.
   */
  lostAt: instant.optional(),
});
/** The state of a watch. */
export type WatchState = z.infer<typeof watchStateSchema>;
