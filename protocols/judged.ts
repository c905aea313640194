/** Messages about our conclusions. They command nothing: an ask does. */
import { z } from "zod";
import { conditionStatus, instant, taintIdSchema } from "./objects.ts";

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
  node: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  readiness: readinessSchema,
  /** Status of the Ready condition as judged; null when the node has none. */
  ready: conditionStatus.nullable(),
  /** When the node entered this readiness, on the judge's wall clock. */
  since: instant,
  /** The last sign of life, on the judge's wall clock; null before the first. */
  heartbeatAt: instant.nullable(),
  eviction: evictionStatusSchema,
  /** The zone key (R2.3), with its NUL. */
  zone: z.string(),
  /** False for a node excluded from disruption checks (2.7). */
  counted: z.boolean(),
});

/**
 * Body of `judged.zone`: published when it changes and with every pulse, so that zones can fold each other's states.
 */
export const judgedZone = z.object({
  zone: z.string(),
  state: zoneStateSchema,
  /** When the zone entered this state or was halted; the next owner continues it. */
  since: instant,
  size: z.number(),
  notReady: z.number(),
  /** Tokens per second that the zone's bucket gains now. */
  taintsPerSecond: z.number(),
  /** Tokens in the bucket now; below 0 after two owners have granted at once. */
  tokens: z.number(),
  queueLength: z.number(),
  /** Whether the all-zones rule stops this zone (R6.10). */
  halted: z.boolean(),
});

/** Body of `judged.pod`: what the taint-manager has decided about a pod. */
export const judgedPod = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  node: z.string(),
  sentence: z.enum(["none", "deadline", "now"]),
  deadlineAt: instant.nullable(),
  /** The taint that decides, null when nothing does. */
  taint: taintIdSchema.nullable(),
  /** Seconds of the toleration that decides; null for none or for ever. */
  tolerationSeconds: z.number().nullable(),
});
