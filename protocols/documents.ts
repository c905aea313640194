/**
 * Reports as documents for people and their programs: what `vigil get -o json` and `vigil explain -o json` print, and
 * what queries over NATS answer. Instants are RFC 3339 in UTC, rates are as they were set, and a zone has the name that
 * people know beside its key.
 */
import { z } from "zod";
import { count, name, rate, tokens } from "./bounds.ts";
import { evictionStatusSchema, outOfServiceStateSchema, readinessSchema, zoneStateSchema } from "./judged.ts";
import { conditionStatus, taintIdSchema } from "./objects.ts";
import { brokenLeasePathSchema } from "./observed.ts";

/** An instant in RFC 3339 with milliseconds, in UTC. */
const time = z.string();

/** A zone: `zone` is `region/zone`, `zone` or `(no zone)`; `zoneKey` is upstream's key, with its NULs. */
export const zoneDocument = z.object({
  zone: z.string(),
  zoneKey: name,
  state: zoneStateSchema,
  /** Whether evictions are halted because every zone is disrupted. */
  halted: z.boolean(),
  since: time,
  size: count,
  notReady: count,
  /** Nodes per second, as the flag has it. */
  taintsPerSecond: rate,
  tokens,
  queueLength: count,
  /** Which field of which policy blocks nodes of its queue: "" is the cluster, null a freeze; absent for none. */
  heldBack: z.array(z.object({ policy: z.string().nullable(), field: z.string().nullable(), nodes: count })).optional(),
  /** What freezes every node: then the zone admits none, whatever its rate; absent without such a freeze. */
  frozenBy: z.string().optional(),
});
/** A zone. */
export type ZoneDocument = z.infer<typeof zoneDocument>;

/** A node. */
export const nodeDocument = z.object({
  name,
  readiness: readinessSchema,
  /** Status of its Ready condition as the API shows it; null when it has none, or that is not known. */
  ready: conditionStatus.nullable(),
  since: time,
  /** When its last heartbeat arrived; null where the ledger has seen none, as of nodes in another ledger's shards. */
  heartbeatAt: time.nullable(),
  eviction: evictionStatusSchema,
  /** The earliest instant at which its pods may be deleted; absent once it has passed (direct mode). */
  evictionFromAt: time.optional(),
  /** Its place in the published part of its zone's queue, from 1; absent otherwise. */
  queuePlace: count.optional(),
  /** The field of its policy, or of the cluster's limits, that blocks its eviction; absent for none. */
  heldBy: z.string().optional(),
  /** Set while it is frozen: it is neither tainted NoExecute nor drained, and its pods stay. */
  isFrozen: z.literal(true).optional(),
  /** The conditions that its policy makes taints of, and the state of each; absent for none. */
  conditions: z.array(z.string()).optional(),
  /** The node policy that applies to it; absent for none. */
  policy: z.string().optional(),
  /** How far it is from the out-of-service taint; absent for one that is not on its way. */
  outOfService: outOfServiceStateSchema.optional(),
  zone: z.string(),
  zoneKey: name,
  /** Set when only shadow mode shows some of this. */
  isShadow: z.literal(true).optional(),
});
/** A node. */
export type NodeDocument = z.infer<typeof nodeDocument>;

/** A node policy in force, and what it does now. The name "" is for all nodes. */
export const policyDocument = z.object({
  name: z.string(),
  mode: z.enum(["Enforce", "Freeze"]).nullable(),
  /** The nodes that have this policy, and how many of them are not ready. */
  nodes: count,
  unhealthy: count,
  /** Nodes that another policy selects too, so that neither applies. */
  conflicts: count,
  breaker: z
    .object({
      state: z.enum(["open", "closed", "unknown"]),
      resetAt: time.nullable(),
      /** How many nodes have gone down within its duration and still are; absent where it does not cover readiness. */
      down: count.optional(),
    })
    .nullable(),
  /** How many nodes the budgets allow to be evicted at once now, and how many more; null without budgets. */
  budget: z.object({ nodes: count, left: count }).nullable(),
  /** Which field of which policy blocks how many waiting nodes, and why. */
  holds: z.array(
    z.object({ policy: z.string(), field: z.string(), untilAt: time.nullable(), detail: z.string(), nodes: count }),
  ),
  /** Pods evicted within the last minute, and pods that wait; absent without an eviction rate. */
  evictions: z.object({ lastMinute: count, waiting: count }).optional(),
  /** What freezes its nodes now; the policy null is for all nodes. */
  freeze: z
    .object({
      sinceAt: time,
      untilAt: time.nullable(),
      causes: z.array(z.object({ policy: z.string().nullable(), by: z.string(), reason: z.string().nullable() })),
    })
    .nullable(),
});
/** A node policy. */
export type PolicyDocument = z.infer<typeof policyDocument>;

/** A pod that waits for its deletion. */
export const podDocument = z.object({
  namespace: name,
  name,
  uid: name,
  node: name,
  /** Null when the pod goes at once, is frozen, or when the earliest instant is not known. */
  deadlineAt: time.nullable(),
  /** Set while its node is frozen: until when if that is known, what is left of its countdown, and what froze it. */
  frozen: z.object({ untilAt: time.nullable(), remainingMs: z.number().nullable(), by: z.string() }).optional(),
  /** Set while it is due and waits for the eviction rate of a policy: for which field, where, and until when. */
  waits: z
    .object({
      policy: z.string(),
      field: z.string().nullable(),
      place: count.nullable(),
      waiting: count,
      expectedAt: time.nullable(),
      behind: count.optional(),
      lease: z.object({ holder: z.string().nullable() }).optional(),
    })
    .optional(),
  /** Set when it has no deadline yet, because a planned freeze without an end begins before its countdown ends. */
  isBeforeFreeze: z.literal(true).optional(),
  /** Set when it has no deadline, because no node can be heard and its countdown is paused. */
  isInOutage: z.literal(true).optional(),
  /** Set when `deadlineAt` is only the earliest instant: the zone has not admitted the node yet (direct mode). */
  isEarliest: z.literal(true).optional(),
  taint: taintIdSchema.nullable(),
  tolerationSeconds: z.number().nullable(),
  /** The taint that these seconds belong to; absent where it is `taint`. */
  toleratedTaint: taintIdSchema.optional(),
  /** Set in shadow mode: the pod would be deleted then. */
  isShadow: z.literal(true).optional(),
});
/** A pod that waits for its deletion. */
export type PodDocument = z.infer<typeof podDocument>;

const objectDocument = { namespace: z.string(), name: z.string() };

/** The name of an object within a text: its characters from `from` up to `to`, in UTF-16 code units. */
const nameInText = z.object({
  from: count,
  to: count,
  kind: z.enum(["Node", "Pod", "Zone", "NodePolicy"]),
  ...objectDocument,
});

/** An explanation: sentences about the present state, and the history that led there, oldest first. */
export const explanationDocument = z.object({
  sentences: z.array(z.string()),
  /** For each sentence the names in it. */
  names: z.array(z.array(nameInText)),
  timeline: z.array(
    z.object({
      /** Id of the message that it comes from. */
      id: z.string(),
      /** Id of the message that caused that message. */
      cause: z.string().nullable(),
      at: time,
      type: z.string(),
      object: z.object({ kind: z.enum(["Node", "Pod", "Zone"]), ...objectDocument }),
      text: z.string(),
      /** The names in its text; absent for none. */
      names: z.array(nameInText).optional(),
      /** How often it happened in a row. */
      times: count,
    }),
  ),
});
/** An explanation. */
export type ExplanationDocument = z.infer<typeof explanationDocument>;

/** How far the answering ledger's view is complete. */
export const watchHealthDocument = z.object({
  shards: count,
  /** Shards without a fresh pulse that reports every watch synced; no harmful verdict is made in them. */
  blindShards: count,
  oldestPulseMs: z.number().nullable(),
  unpublished: z.object({ nodes: count, pods: count }).optional(),
  leasePath: brokenLeasePathSchema.optional(),
  /** Since when no node can be heard, in epoch milliseconds, or null where nothing shows it; absent while nodes can. */
  outage: z.object({ sinceAt: z.number().nullable() }).optional(),
  /** For each watch, for how long it has been synced, in milliseconds; null while it is not. */
  watches: z.record(z.string(), z.number().nullable()),
});
