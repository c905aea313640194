/** What an API reply means for the try of a writer. When to try again is the jobs' matter. */
import type { Outcome } from "../../protocols/done.ts";
import type { ReadReply, WriteReply } from "../../protocols/ports.ts";
import type { TryResult } from "./write-jobs.ts";

/** The end of a try in which nothing was written. */
export function unwritten(outcome: Outcome, detail: string): TryResult {
  return { outcome, change: "", detail, resourceVersion: null };
}

/** The end of a try by what a write brought; `change` says what was, or would have been, written. */
export function written(reply: WriteReply, change: string): TryResult {
  if (reply.outcome === "ok") {
    const resourceVersion = reply.object.metadata.resourceVersion ?? null;
    return { outcome: "ok", change, detail: "", resourceVersion };
  }
  const { detail } = reply;
  const told = { change, detail, resourceVersion: null };
  if (reply.outcome !== "throttled" && reply.isLate === true) return { ...told, outcome: "failed", isLate: true };
  if (reply.outcome === "throttled") return { ...told, outcome: "throttled", retryAfterMs: reply.retryAfterMs };
  return { ...told, outcome: reply.outcome === "exists" ? "failed" : reply.outcome };
}

/** The end of a try whose live read of `what` brought nothing: in doubt nothing is written. */
export function unread(what: string, reply: Exclude<ReadReply, { outcome: "ok" }>): TryResult {
  const pause = reply.outcome === "throttled" ? { retryAfterMs: reply.retryAfterMs } : {};
  return { ...unwritten(reply.outcome, `the ${what} could not be read: ${reply.detail}`), ...pause };
}
