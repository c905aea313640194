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

/** The status of a condition. A status outside these three is read as Unknown. */
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
 * That the NoExecute taint added at `at` took the place of its opposite, in a line that began with `firstKey` at
 * `firstAt`, and in which the other of the two came first at `secondAt` (Annotation.taintSwap). It tells of no taint
 * with another stamp.
 */
export const taintSwapSchema = z.object({ at: instant, firstKey: z.string(), firstAt: instant, secondAt: instant });
/** What is written down about a taint that took its opposite's place. */
export type TaintSwap = z.infer<typeof taintSwapSchema>;

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
  conditions: z.array(conditionSchema),
  /**
   * When NoExecute taints without `timeAdded` were first seen, by `key:effect`; absent when nothing is written down
   * (Annotation.taintsSeen).
   */
  taintsSeenAt: z.record(z.string(), instant).optional(),
  /** What is written down about a taint that took its opposite's place; absent when nothing is. */
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
   * The node's version that carries a status: heartbeats move it without the node being told anew, and who writes to
   * the node needs the last one.
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
  /** The version that this is, which a write may name; left out where pods are only weighed. */
  resourceVersion: z.string().optional(),
});
/** What is observed of a pod that is bound to a node. */
export type ObservedPod = z.infer<typeof podSchema>;

/** Whether the observer's watch of one resource can be trusted, and since when without a break. */
export const watchStateSchema = z.object({
  synced: z.boolean(),
  /** Start of the present unbroken sight, on the observer's wall clock; null while not synced. */
  since: instant.nullable(),
});
/** Whether a watch can be trusted, and since when without a break. */
export type WatchState = z.infer<typeof watchStateSchema>;
