/** Messages about what came of an ask. */
import { z } from "zod";

/**
 * What came of a write. `refused`: our own re-read showed that the ask no longer holds. `shadowed`: recorded, not
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
/** What came of a write. */
export type Outcome = z.infer<typeof outcomeSchema>;

/** Body of `done.write`; its `cause` is the id of the ask. */
export const doneWrite = z.object({
  /** The type of the ask. */
  ask: z.string(),
  kind: z.enum(["Node", "Pod"]),
  /** Empty for a node. */
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  /** The node concerned; for a node its own name. */
  node: z.string(),
  outcome: outcomeSchema,
  /** Whether the writer will try again by itself. */
  retrying: z.boolean(),
  /** From the ask's arrival to this outcome. */
  latencyMs: z.number(),
  /** What was, or would have been, written, in words: `taints: +node.kubernetes.io/unreachable:NoExecute`. */
  change: z.string(),
  /** Why it came to this outcome, as the API server or the re-read said; empty when there is nothing to add. */
  detail: z.string(),
  /** The object's resourceVersion after the write; null when there is none. */
  resourceVersion: z.string().nullable(),
});
