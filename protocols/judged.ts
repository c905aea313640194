/** Messages with Vigil's conclusions. They request nothing; `asked.*` messages do. */
import { z } from "zod";
import { count, instant, int64Seconds, listOf, name, rate, tokens } from "./bounds.ts";
import { conditionStatus, taintIdSchema } from "./objects.ts";

/** A node's readiness, a state of its machine. */
export const readinessSchema = z.enum(["starting", "ready", "notReady", "unknown"]);
/** A node's readiness. */
export type Readiness = z.infer<typeof readinessSchema>;

/** How far a node's eviction has come (R5.1). In taint mode `evicted` means that the node has the NoExecute taint. */
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
  /** When the node entered this readiness, on the publisher's wall clock. */
  since: instant,
  /** When the last heartbeat arrived, on the publisher's wall clock; null before the first. */
  heartbeatAt: instant.nullable(),
  eviction: evictionStatusSchema,
  /**
   * In direct mode, the earliest instant at which the node's pods may be deleted, on the publisher's wall clock; absent
   * once it has passed. The zone's queue may delay the deletion further.
   */
  evictionFromAt: instant.optional(),
  /** The zone key (R2.3), with its NUL. */
  zone: name,
  /** False for a node that is excluded from disruption checks (R2.22). */
  counted: z.boolean(),
});

/** How many nodes of its queue a zone publishes. */
export const QUEUE_PUBLISHED_MAX = 20;

/** Body of `judged.zone`: published when it changes and with every pulse, because zones need each other's states. */
export const judgedZone = z.object({
  zone: name,
  state: zoneStateSchema,
  /** When the zone entered this state or was halted; the next owner continues it. */
  since: instant,
  size: count,
  notReady: count,
  /** Current refill rate of the zone's bucket, in tokens per second. */
  taintsPerSecond: rate,
  /** Tokens in the bucket; negative after two owners have granted at once. */
  tokens,
  queueLength: count,
  /** The first nodes of the queue in order, at most QUEUE_PUBLISHED_MAX; absent when the queue is empty. */
  queue: listOf(name).optional(),
  /** Whether the zone is halted because all zones are fully disrupted (R6.10). */
  halted: z.boolean(),
});

/** Body of `judged.pod`: the taint-manager's decision about a pod. */
export const judgedPod = z.object({
  namespace: name,
  name,
  uid: name,
  node: name,
  eviction: z.enum(["none", "pending", "due"]),
  deadlineAt: instant.nullable(),
  /** The taint that decides; null without one. */
  taint: taintIdSchema.nullable(),
  /** Seconds of the toleration that decides; null without one, and when the taint is tolerated for ever. */
  tolerationSeconds: int64Seconds.nullable(),
});
