/** Messages with Vigil's conclusions. They request nothing; `asked.*` messages do. */
import { z } from "zod";
import {
  count,
  durationMs,
  instant,
  int64Seconds,
  key,
  listOf,
  name,
  rate,
  text,
  tokens,
  value,
  word,
} from "./bounds.ts";
import { nodePolicySpecSchema, pauseRequestSchema } from "./node-policy.ts";
import { conditionStatus, taintIdSchema } from "./objects.ts";
import { outageSchema } from "./observed.ts";

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

/**
 * How far a silent node is from the out-of-service taint: it has no proof that counts, or one from before its silence;
 * it waits for `after`, or to be admitted for eviction; something blocks it; it is due; it carries the taint, or does
 * so although it is Ready again; a user removed the taint.
 */
export const outOfServiceStateSchema = z.enum([
  "unproved",
  "outdated",
  "waits",
  "notAdmitted",
  "held",
  "due",
  "on",
  "kept",
  "takenOff",
]);

/** How many policies that select one node it names. */
export const CONFLICT_MAX = 16;

/** How many conditions of a node a judgement names. */
export const JUDGED_CONDITIONS_MAX = 64;

/** A rule of the policy of a node about one of its conditions, or a taint that Vigil added for one. */
const judgedConditionSchema = z.object({
  type: key,
  /** Its status; absent for a condition that the node does not have. */
  status: conditionStatus.optional(),
  /** Since when Vigil has observed that status; absent where that is not recorded. */
  since: instant.optional(),
  taint: taintIdSchema.extend({ value: value.optional() }),
  /**
   * `waiting`: its taint is added at `untilAt`. `due`: the taint is to be added. `tainted`: the node carries it.
   * `healing`: the taint is removed at `untilAt`. `missing`: the condition says nothing any more, so the taint stays.
   * `left`: no rule applies to the taint, so it stays until a user removes it. Example: a rule has `for: 10m`, and the
   * condition was first observed at 12:00. It is `waiting` until 12:10, then `due`, and `tainted` once the API shows
   * the taint.
   */
  state: z.enum(["waiting", "due", "tainted", "healing", "missing", "left"]),
  untilAt: instant.optional(),
});
/** A rule of the policy of a node about one of its conditions. */
export type JudgedCondition = z.infer<typeof judgedConditionSchema>;

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
  /**
   * In direct mode, true for a node that is down and not due to be drained while its pods are not known: it may have
   * none to delete, and then needs no drain. Absent once they are known.
   */
  podsUnknown: z.boolean().optional(),
  /** The zone key (R2.3), with its NUL. */
  zone: name,
  /** False for a node that is excluded from disruption checks (R2.22). */
  counted: z.boolean(),
  /** The node policy that applies to it; absent for none. */
  policy: name.optional(),
  /** The policies that select it, if there are several: none of them applies, but each may freeze it. */
  conflict: listOf(name, CONFLICT_MAX).optional(),
  /** The field of its policy that keeps the NoSchedule taint of a Ready node, and until when; absent for none. */
  taintHold: z.object({ field: word, untilAt: instant }).optional(),
  /** Until when `unhealthyDelay` of its policy keeps a node that reports Ready=False from waiting; absent otherwise. */
  unhealthyDelay: z.object({ untilAt: instant }).optional(),
  /** The conditions that freeze it by `maintenance` of its policy; absent for none. */
  maintenance: z.object({ types: listOf(key, JUDGED_CONDITIONS_MAX), sinceAt: instant, untilAt: instant }).optional(),
  /** The conditions that its policy makes taints of, as far as the node has them; absent for none. */
  conditions: listOf(judgedConditionSchema, JUDGED_CONDITIONS_MAX).optional(),
  /**
   * How far it is from the out-of-service taint, if its policy has `outOfService`; absent for a node that is not on its
   * way.
   */
  outOfService: z
    .object({
      state: outOfServiceStateSchema,
      /** When `after` is over, for one that waits for it; absent while that is not known. */
      fromAt: instant.optional(),
      /** What blocks it. */
      heldBy: text.optional(),
      /** For one without a proof: whether its policy accepts proofs by people, with `vigil prove-down`. */
      acceptsManual: z.boolean().optional(),
    })
    .optional(),
});

/** How many nodes of its queue a zone publishes. */
export const QUEUE_PUBLISHED_MAX = 20;

/** Body of `judged.zone`: published when it changes and again with the pulses, because zones need each other's states. */
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
  /** The taint that this toleration is for; absent where it is `taint`. After a swap it may be the opposite one. */
  toleratedTaint: taintIdSchema.optional(),
  /**
   * What freezes the node, by object and field, when that ends if it is known, and how much of the countdown is left.
   * `deadlineAt` counts with that end, and is null without one. Absent while the countdown runs.
   */
  held: z.object({ field: text, untilAt: instant.nullable(), remainingMs: durationMs }).optional(),
  /** The last outage in which the countdown is or was paused; absent for none. */
  outage: outageSchema.optional(),
  /**
   * How many pods of the same owner were created on the node again after their eviction and evicted once more, and when
   * this one is deleted at the earliest. Absent for a pod that does not wait for that.
   */
  recreated: z.object({ deletions: count, nextAt: instant }).optional(),
  /** Why a pod that `taint` evicts stays: it mirrors a static pod. Absent for any other pod. */
  kept: z.enum(["mirror"]).optional(),
});

/** Longest name of a policy, in characters: with the key of a zone it is the key of a disruption domain. */
export const POLICY_NAME_MAX = 63;

/** Most policies in force at once: `judged.policies` names them all in one message. */
export const POLICIES_MAX = 200;

/** Most frozen intervals of one policy, or of all nodes. */
export const FROZEN_INTERVALS_MAX = 32;
/** Most refused fields of one policy that are published; the condition of the object names all. */
export const REFUSED_FIELDS_MAX = 8;
/** Longest line about a refused field, in characters: with the longest spec all of them fit into a message. */
export const REFUSED_FIELD_CHARACTERS_MAX = 256;
/** Most requests to freeze all nodes. */
export const PAUSE_REQUESTS_MAX = 64;

const frozenIntervals = listOf(z.object({ fromAt: instant, toAt: instant.nullable() }), FROZEN_INTERVALS_MAX);

/**
 * Body of `judged.policy`: one NodePolicy, with the fields that are valid and honoured. Published when it changes and
 * repeated, before each `judged.policies`.
 */
export const judgedPolicy = z.object({
  policy: name,
  /** A checksum of everything else in the body. */
  version: word,
  spec: nodePolicySpecSchema,
  /** When its nodes were and are frozen; absent for never. */
  frozen: frozenIntervals.optional(),
  /** Why fields of its object count as unset, one line each, for the first ones; absent for none. */
  refused: listOf(z.string().max(REFUSED_FIELD_CHARACTERS_MAX), REFUSED_FIELDS_MAX).optional(),
});

/**
 * Body of `judged.policies`: every policy in force and its version. A reader acts on the policies once it has all of
 * them; until it has received the first such set it requests nothing harmful.
 */
export const judgedPolicies = z.object({
  policies: listOf(z.object({ policy: name, version: word }), POLICIES_MAX),
  /** When all nodes were and are frozen, and by which requests; absent for never. */
  frozen: frozenIntervals.optional(),
  pauseRequests: listOf(pauseRequestSchema, PAUSE_REQUESTS_MAX).optional(),
  /** The outages that are remembered; absent where none can be. */
  outages: frozenIntervals.optional(),
});

/** Most permits of one policy at once. A zone grants a node every few seconds, so more would only wait. */
export const PERMITS_MAX = 64;
/** Most admissions for eviction that a message carries with their nodes, the latest first. */
export const CONDEMNATIONS_MAX = 128;
/** Most spans of time in which the earlier admissions are counted. */
export const CONDEMNATION_SPANS_MAX = 32;
/** Most reasons for which nodes of one policy are blocked: each limit of the policy, and of the cluster. */
const HOLDS_MAX = 8;

/**
 * What the limits of a policy remember and the API server does not show: the next owner, and the next start, continue
 * with it.
 */
export const limitMemorySchema = z.object({
  /** When the breaker tripped; null while it is closed. */
  trippedAt: instant.nullable(),
  /** When it resets by itself; null while it is closed, and for one that does not. */
  resetAt: instant.nullable(),
  isStorm: z.boolean(),
  stormEndedAt: instant.nullable(),
  condemnations: listOf(z.object({ node: name, at: instant }), CONDEMNATIONS_MAX),
  /** How many were admitted beyond those: the earliest and the latest instant of each span. Absent for none. */
  earlier: listOf(z.object({ fromAt: instant, toAt: instant, count }), CONDEMNATION_SPANS_MAX).optional(),
});

/**
 * Body of `judged.limits`: the nodes of one policy with limits, and which of them may be admitted for eviction: tainted
 * NoExecute, or drained in direct mode. The policy "" are the nodes without such a policy, where the cluster has a
 * breaker. The policy "*" are all nodes: those that policies may taint NoExecute for a condition, under the operator's
 * ceiling. Published when it changes and with every pulse, but only every 5 s while it is the same and neither permits
 * nor blocks a node.
 */
export const judgedLimits = z.object({
  policy: name,
  selected: count,
  unhealthy: count,
  /** Nodes that are admitted for eviction now. */
  condemned: count,
  /** Nodes that were admitted within the breaker's duration. */
  inWindow: count,
  /** The most nodes that the budgets in force allow at once; absent without one. */
  budget: count.optional(),
  /** The nodes that their zones may admit now. */
  permits: listOf(z.object({ node: name, uid: name }), PERMITS_MAX),
  /** Why waiting nodes are blocked, and how many: `field` of `policy`, where "" is the cluster's own breaker. */
  holds: listOf(
    z.object({ policy: name, field: word, untilAt: instant.nullable(), detail: text, nodes: count }),
    HOLDS_MAX,
  ),
  memory: limitMemorySchema,
  /**
   * Where the breaker covers readiness: how many nodes have gone down within its duration and still are, and since when
   * the last of all that are down is, as its `judged.node` says; null for none. A node that is down since a later
   * instant is not counted yet.
   */
  down: z.object({ nodes: count, newestAt: instant.nullable() }).optional(),
  /** While the budgets block nodes: the node that has counted in them for the longest, where that is known. */
  longest: z.object({ node: name, since: instant }).optional(),
});

/** Most permits of one policy at once: an eviction takes well below a second, so more would only wait. */
export const EVICTION_PERMITS_MAX = 64;
/** How many waiting pods of a policy are published with their place. */
export const EVICTION_QUEUE_PUBLISHED_MAX = 100;

/**
 * Body of `judged.evictions`: the pods of the nodes of one policy that limits the rate of evictions. Published when it
 * changes and every second.
 */
export const judgedEvictions = z.object({
  policy: name,
  /** How many pods were evicted within the last minute, or may have been, or may be any moment. */
  inWindow: count,
  /** How many pods wait for the rate. */
  waiting: count,
  /** When the pod that waits longest was due; null when no pod waits. */
  oldestDeadlineAt: instant.nullable(),
  /** The pods that their writers may evict now. A permit is for one attempt, and ends soon after `grantedAt`. */
  permits: listOf(z.object({ uid: name, grantedAt: instant }), EVICTION_PERMITS_MAX),
  /**
   * The first waiting pods in order: the field that delays each of them, and when its permit is expected by what is
   * known now; null for never. At most EVICTION_QUEUE_PUBLISHED_MAX.
   */
  queue: listOf(z.object({ uid: name, field: word, expectedAt: instant.nullable() }), EVICTION_QUEUE_PUBLISHED_MAX),
  /**
   * The holder of the Lease that permits require; null if no process holds it or that is not known. Absent while the
   * publisher holds it.
   */
  lease: z.object({ holder: name.nullable() }).optional(),
});

/**
 * The progress of the remediations of an unhealthy node, in the order of the values. The node waits for its grace, or
 * to be admitted for eviction. The next remediation is blocked, is created now, or would be without `dryRun` and shadow
 * mode. One runs, has succeeded, is being deleted, or belongs to another client. All have timed out or failed. The next
 * one cannot be created.
 */
export const remediationStateSchema = z.enum([
  "waits",
  "notAdmitted",
  "held",
  "due",
  "dryRun",
  "running",
  "succeeded",
  "ending",
  "foreign",
  "exhausted",
  "blocked",
]);
/** The progress of the remediations of an unhealthy node. */
export type RemediationState = z.infer<typeof remediationStateSchema>;

/** Most nodes of a policy whose remediations are published. */
export const REMEDIATED_NODES_MAX = 100;

/** The progress of the remediations of one node. */
const remediatedNodeSchema = z.object({
  node: name,
  state: remediationStateSchema,
  /** The kind of the remediation that runs or comes next; absent once all are over. */
  kind: word.optional(),
  /** When that remediation was created. */
  sinceAt: instant.optional(),
  /** When that remediation times out, or when the grace of a waiting node ends. */
  untilAt: instant.optional(),
  /** What blocks the remediation, why it cannot be created, or that its dry run was accepted. */
  detail: text.optional(),
});
/** The progress of the remediations of one node. */
export type RemediatedNode = z.infer<typeof remediatedNodeSchema>;

/**
 * Body of `judged.remediations`: the unhealthy nodes of a policy with remediations. Published when it changes, and
 * repeated.
 */
export const judgedRemediations = z.object({
  policy: name,
  nodes: listOf(remediatedNodeSchema, REMEDIATED_NODES_MAX),
});

/**
 * Body of `judged.lease`: whether the publisher holds the Lease without which no node is permitted under the limits of
 * policies, and which member does, null for none or while that is not known. Published when it changes and with every
 * pulse, while `judged.limits` is received.
 */
export const judgedLease = z.object({ isHeld: z.boolean(), holder: name.nullable() });

/** Body of `judged.memory`: what is stored about the limits of a policy; null for nothing. */
export const judgedMemory = z.object({ policy: name, memory: limitMemorySchema.nullable() });
