/** Messages about the outcome of a request. */
import { z } from "zod";
import { durationMs, instant, name, text, word } from "./bounds.ts";
import { nodeShadowChangeSchema, podShadowSchema } from "./objects.ts";

/**
 * The outcome of a write. `refused`: a live read showed that the request no longer applies. `shadowed`: recorded, not
 * written. `unknown`: the reply was lost.
 */
const outcomeSchema = z.enum([
  "ok",
  "conflict",
  "gone",
  "refused",
  "throttled",
  "denied",
  "failed",
  "unknown",
  "shadowed",
]);
/** The outcome of a write. */
export type Outcome = z.infer<typeof outcomeSchema>;
/** Outcomes after which watches show the change: shadow mode shows what it has not written. */
export const SHOWN_OUTCOMES: ReadonlySet<Outcome> = new Set<Outcome>(["ok", "shadowed"]);

const evictionPermitSchema = z.object({
  policy: name,
  /** When it was granted, on the wall clock of the process that granted it. */
  grantedAt: instant,
});
/** The permission to evict one pod of a policy with a rate, once. */
export type EvictionPermit = z.infer<typeof evictionPermitSchema>;

/** Body of `done.write`; its `cause` is the id of the request. */
export const doneWrite = z.object({
  /** The message type of the request. */
  ask: word,
  kind: z.enum(["Node", "Pod"]),
  /** Empty for a node. */
  namespace: name,
  name,
  uid: name,
  /** The node concerned; for a node its own name. */
  node: name,
  outcome: outcomeSchema,
  /** Whether the writer retries by itself. */
  retrying: z.boolean(),
  /** When the writer retries, on its wall clock; absent when it does not. */
  retryAt: instant.optional(),
  /** From the arrival of the request to this outcome. */
  latencyMs: durationMs,
  /** What was, or would have been, written, as text: `taints: +node.kubernetes.io/unreachable:NoExecute`. */
  change: text,
  /** The reason for this outcome, from the API server or the live read; may be empty. */
  detail: text,
  /** The object's resourceVersion after the write; null when there is none. */
  resourceVersion: name.nullable(),
  /** The live renewal of its node's lease that refused an eviction; absent for any other outcome. */
  leaseRenewedAt: instant.optional(),
  /** The permit that an eviction under a rate used in this attempt; absent for an attempt that used none. */
  permit: evictionPermitSchema.optional(),
  /** What a shadowed write to a node would have changed; absent for any other outcome. */
  nodeShadow: nodeShadowChangeSchema.optional(),
  /** What a shadowed write to a pod would have changed; absent for any other outcome. */
  podShadow: podShadowSchema.optional(),
});
