/**
 * The parts of Kubernetes objects that messages carry, as schemas with inferred types. Instants are epoch milliseconds.
 */
import { z } from "zod";
import {
  count,
  instant,
  instantsByTaint,
  int64Seconds,
  key,
  listOf,
  mapOf,
  name,
  text,
  value,
  word,
} from "./bounds.ts";

/**
 * A taint exactly as the API shows it, so that foreign ones can be written back untouched; identity is (key, effect).
 */
export const taintSchema = z.object({
  key,
  value: value.optional(),
  effect: word,
  timeAdded: word.optional(),
});
/** A taint as the API shows it. */
export type Taint = z.infer<typeof taintSchema>;

/** What identifies a taint (section 0 of the upstream rules: value and timeAdded never take part). */
export const taintIdSchema = z.object({ key, effect: word });
/** What identifies a taint. */
export type TaintId = z.infer<typeof taintIdSchema>;

/** A pod's toleration as the API shows it; `tolerationSeconds` absent means for ever. */
const tolerationSchema = z.object({
  key: key.optional(),
  operator: word.optional(),
  value: value.optional(),
  effect: word.optional(),
  tolerationSeconds: int64Seconds.optional(),
});
/** A pod's toleration as the API shows it. */
export type Toleration = z.infer<typeof tolerationSchema>;

/** The status of a condition. A condition with any other status is read as if it had not been posted. */
export const conditionStatus = z.enum(["True", "False", "Unknown"]);
/** The status of a condition. */
export type ConditionStatus = z.infer<typeof conditionStatus>;

/** A node condition; the message is dropped because nothing decides on it. */
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
 * A swap of our two NoExecute taints, not-ready and unreachable, as Annotation.taintSwap records it. `at` is the
 * `timeAdded` of the taint that stands now; of a taint with another stamp the record says nothing. The line of swaps
 * began with `firstKey` at `firstAt`, and its opposite first appeared at `secondAt`.
 */
export const taintSwapSchema = z.object({ at: instant, firstKey: key, firstAt: instant, secondAt: instant });
/** A swap of our two NoExecute taints. */
export type TaintSwap = z.infer<typeof taintSwapSchema>;

/** How many taints of a node are published at most: with the longest keys and values they take half of a message. */
export const TAINTS_MAX = 64;

/** What is observed of a node: its body in `observed.node` and its projection at the API. */
export const nodeSchema = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  createdAt: instant,
  /** Only the labels named in OBSERVED_LABELS. */
  labels: mapOf(value),
  unschedulable: z.boolean(),
  taints: listOf(taintSchema),
  /**
   * How many taints more the node carries than `taints` holds; absent when it holds all of them. Nothing is decided on
   * those left out, and a patch of the taints begins with a live read.
   */
  taintsOmitted: count.optional(),
  /** Only the types named in ConditionType, one of each. */
  conditions: listOf(conditionSchema),
  /**
   * From when NoExecute taints count whose `timeAdded` does not say it, by `key:effect`; absent without that
   * annotation. Only of taints that stand.
   */
  taintsSeenAt: instantsByTaint.optional(),
  /**
   * Set when that annotation holds anything else, such as entries of taints that stand no longer: it is to be
   * rewritten.
   */
  taintsSeenStale: z.boolean().optional(),
  /** The last swap of our two NoExecute taints; absent without that annotation. */
  taintSwap: taintSwapSchema.optional(),
});
/** What is observed of a node. */
export type ObservedNode = z.infer<typeof nodeSchema>;

/** One sign of life: a lease renewal, or a new heartbeat time in the Ready condition. */
export const heartbeatSchema = z.object({
  node: name,
  /** Which of the two signs it was. */
  kind: z.enum(["lease", "status"]),
  /**
   * The kubelet's own stamp (renewTime or lastHeartbeatTime); only compared with earlier ones, never with a clock
   * (R2.39).
   */
  renewedAt: instant.nullable(),
  /** When the observer saw it, on the observer's wall clock; only its distance from the frame's `at` has meaning. */
  seenAt: instant,
  /**
   * The node's version after a status heartbeat. Such a heartbeat changes the version without an `observed.node`, and a
   * write to the node must name the newest.
   */
  resourceVersion: name.optional(),
});
/** One sign of life of a node. */
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** What is observed of a pod that is bound to a node. */
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
  createdAt: instant,
  /** When the pod was bound: its PodScheduled condition, else its start time, else its creation. */
  boundAt: instant,
  /** When its deletion was asked for; null while it is not terminating. */
  deletionAt: instant.nullable(),
  /** Its resourceVersion, for a write that names it; absent in a BoundPod, which carries it beside the pod. */
  resourceVersion: name.optional(),
});
/** What is observed of a pod that is bound to a node. */
export type ObservedPod = z.infer<typeof podSchema>;

/** Whether the observer's watch of one resource can be trusted, and since when it has been without a break. */
export const watchStateSchema = z.object({
  synced: z.boolean(),
  /** Start of the present unbroken sight, on the observer's wall clock; null while not synced. */
  since: instant.nullable(),
  /**
   * When it was last known to be whole, on the observer's wall clock, of a loss that was found out late: until then it
   * was said to be synced. Absent while synced, and when it was found out at once.
   */
  lostAt: instant.optional(),
});
/** The state of a watch. */
export type WatchState = z.infer<typeof watchStateSchema>;
