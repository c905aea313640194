/** Messages about what came of an ask. */
import { z } from "zod";
import { durationMs, instant, name, text, word } from "./bounds.ts";

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
  ask: word,
  kind: z.enum(["Node", "Pod"]),
  /** Empty for a node. */
  namespace: name,
  name,
  uid: name,
  /** The node concerned; for a node its own name. */
  node: name,
  outcome: outcomeSchema,
  /** Whether the writer will try again by itself. */
  retrying: z.boolean(),
  /** When it tries again, on its wall clock; absent when it does not. */
  retryAt: instant.optional(),
  /** From the ask's arrival to this outcome. */
  latencyMs: durationMs,
  /** What was, or would have been, written, in words: `taints: +node.kubernetes.io/unreachable:NoExecute`. */
  change: text,
  /** Why it came to this outcome, as the API server or the re-read said; empty when there is nothing to add. */
  detail: text,
  /** The object's resourceVersion after the write; null when there is none. */
  resourceVersion: name.nullable(),
});
