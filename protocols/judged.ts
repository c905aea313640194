/** Messages about our conclusions. They command nothing: an ask does. */
import { z } from "zod";
import { count, instant, int64Seconds, listOf, name, rate, tokens } from "./bounds.ts";
import { conditionStatus, taintIdSchema } from "./objects.ts";

/** A node's life as its machine names it. */
export const readinessSchema = z.enum(["starting", "ready", "notReady", "unknown"]);
/** A node's life as its machine names it. */
export type Readiness = z.infer<typeof readinessSchema>;

/**
 * How far a node's eviction has come (R5.1; in taint mode `evicted` means that the NoExecute taint stands on the node).
 */
export const evictionStatusSchema = z.enum(["unmarked", "toBeEvicted", "evicted"]);
/** How far a node's eviction has come. */
export type EvictionStatus = z.infer<typeof evictionStatusSchema>;

/** A zone's disruption state (R6.1), `Initial` until its size is known. */
export const zoneStateSchema = z.enum(["Initial", "Normal", "PartialDisruption", "FullDisruption"]);
/** A zone's disruption state. */
export type ZoneState = z.infer<typeof zoneStateSchema>;

/** Body of `judged.node`: published when it changes, and for every node of a shard when that shard is resynced. */
export const judgedNode = z.object({
  node: name,
  uid: name,
  resourceVersion: name,
  readiness: readinessSchema,
  /** Status of the Ready condition as judged; null when the node has none. */
  ready: conditionStatus.nullable(),
  /** When the node entered this readiness, on the judge's wall clock. */
  since: instant,
  /** The last heartbeat that the judge saw come, on its wall clock; null before the first. */
  heartbeatAt: instant.nullable(),
  eviction: evictionStatusSchema,
  /**
   * The earliest instant at which the node's pods may be deleted, on the judge's wall clock, while that lies ahead;
   * only in direct mode. The zone's queue may delay it further.
   */
  evictionFromAt: instant.optional(),
  /** The zone key (R2.3), with its NUL. */
  zone: name,
  /** False for a node excluded from disruption checks (2.7). */
  counted: z.boolean(),
});

/** How many nodes of its queue a zone publishes. */
export const QUEUE_PUBLISHED_MAX = 20;

/**
 * Body of `judged.zone`: published when it changes and with every pulse, so that zones can fold each other's states.
 */
export const judgedZone = z.object({
  zone: name,
  state: zoneStateSchema,
  /** When the zone entered this state or was halted; the next owner continues it. */
  since: instant,
  size: count,
  notReady: count,
  /** Tokens per second that the zone's bucket gains now. */
  taintsPerSecond: rate,
  /** Tokens in the bucket now; below 0 after two owners have granted at once. */
  tokens,
  queueLength: count,
  /** The first nodes of the queue in the order of their turns, at most QUEUE_PUBLISHED_MAX; absent for an empty one. */
  queue: listOf(name).optional(),
  /** Whether the all-zones rule stops this zone (R6.10). */
  halted: z.boolean(),
});

/** Body of `judged.pod`: what the taint-manager has decided about a pod. */
export const judgedPod = z.object({
  namespace: name,
  name,
  uid: name,
  node: name,
  eviction: z.enum(["none", "pending", "due"]),
  deadlineAt: instant.nullable(),
  /** The taint that decides, null when nothing does. */
  taint: taintIdSchema.nullable(),
  /** Seconds of the toleration that decides; null for none or for ever. */
  tolerationSeconds: int64Seconds.nullable(),
});
