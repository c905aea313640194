/**
 * The parts of Kubernetes objects that messages carry, as schemas with inferred types. Instants are epoch milliseconds.
 */
import { z } from "zod";

/** An instant in epoch milliseconds; a lease's microseconds are kept as the fraction. */
export const instant = z.number();

/**
 * A taint exactly as the API shows it, so that foreign ones can be written back untouched; identity is (key, effect).
 */
export const taintSchema = z.object({
  key: z.string(),
  value: z.string().optional(),
  effect: z.string(),
  timeAdded: z.string().optional(),
});
/** A taint as the API shows it. */
export type Taint = z.infer<typeof taintSchema>;

/** What identifies a taint (section 0 of the upstream rules: value and timeAdded never take part). */
export const taintIdSchema = z.object({ key: z.string(), effect: z.string() });
/** What identifies a taint. */
export type TaintId = z.infer<typeof taintIdSchema>;

/** A pod's toleration as the API shows it; `tolerationSeconds` absent means for ever. */
const tolerationSchema = z.object({
  key: z.string().optional(),
  operator: z.string().optional(),
  value: z.string().optional(),
  effect: z.string().optional(),
  tolerationSeconds: z.number().optional(),
});
/** A pod's toleration as the API shows it. */
export type Toleration = z.infer<typeof tolerationSchema>;

/** The status of a condition. A condition with any other status is read as if it had not been posted. */
export const conditionStatus = z.enum(["True", "False", "Unknown"]);
/** The status of a condition. */
export type ConditionStatus = z.infer<typeof conditionStatus>;

/** A node condition; the message is dropped because nothing decides on it. */
const conditionSchema = z.object({
  type: z.string(),
  status: conditionStatus,
  reason: z.string().optional(),
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
export const taintSwapSchema = z.object({ at: instant, firstKey: z.string(), firstAt: instant, secondAt: instant });
/** A swap of our two NoExecute taints. */
export type TaintSwap = z.infer<typeof taintSwapSchema>;

/** How many taints of a node are published at most: with the longest keys and values they take half of a message. */
export const TAINTS_MAX = 64;

/** What is observed of a node: its body in `observed.node` and its projection at the API. */
export const nodeSchema = z.object({
  node: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  createdAt: instant,
  /** Only the labels named in OBSERVED_LABELS. */
  labels: z.record(z.string(), z.string()),
  unschedulable: z.boolean(),
  taints: z.array(taintSchema),
  /**
   * How many taints more the node carries than `taints` holds; absent when it holds all of them. Nothing is decided on
   * those left out, and a patch of the taints begins with a live read.
   */
  taintsOmitted: z.number().optional(),
  /** Only the types named in ConditionType, one of each. */
  conditions: z.array(conditionSchema),
  /**
   * From when NoExecute taints count whose `timeAdded` does not say it, by `key:effect`; absent without that
   * annotation. Only of taints that stand.
   */
  taintsSeenAt: z.record(z.string(), instant).optional(),
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
  node: z.string(),
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
  resourceVersion: z.string().optional(),
});
/** One sign of life of a node. */
export type Heartbeat = z.infer<typeof heartbeatSchema>;

/** What is observed of a pod that is bound to a node. */
export const podSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  phase: z.string(),
  /** Status of the pod's Ready condition; null when it has none (R3.5). */
  ready: conditionStatus.nullable(),
  tolerations: z.array(tolerationSchema),
  /** Kind of the controlling owner, such as `DaemonSet`; null when there is none. */
  owner: z.string().nullable(),
  createdAt: instant,
  /** When the pod was bound: its PodScheduled condition, else its start time, else its creation. */
  boundAt: instant,
  /** When its deletion was asked for; null while it is not terminating. */
  deletionAt: instant.nullable(),
  /** Its resourceVersion, for a write that names it; absent in a BoundPod, which carries it beside the pod. */
  resourceVersion: z.string().optional(),
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
