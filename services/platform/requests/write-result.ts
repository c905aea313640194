/** What an API reply means for the try of a writer. When to try again is the jobs' matter. */
import type { Outcome } from "../../../protocols/done.ts";
import type { Io, ReadReply, WriteReply } from "../../../protocols/ports.ts";
import { limitedWarn } from "../process/log.limited.ts";
import type { TryResult } from "./write-jobs.ts";

/** Shortest pause between two lines about asks that no service makes, in milliseconds. */
const WARNING_PAUSE_MS = 1000;

/** An ask as it is named in the log. */
interface NamedRequest {
  readonly id: string;
  readonly body: { readonly node: string };
}

/** The end of a try in which nothing was written. */
export function unwritten(outcome: Outcome, detail: string): TryResult {
  return { outcome, change: "", detail, resourceVersion: null };
}

/** Ends the try of an ask that no service of Vigil makes, with a line in the log: somebody else has made it. */
export function forbiddenRefusal({
  log,
  clock,
}: Pick<Io, "log" | "clock">): (ask: NamedRequest, problem: string, report: (result: TryResult) => void) => void {
  const warn = limitedWarn(log, clock, WARNING_PAUSE_MS);
  return ({ id, body: { node } }, problem, report) => {
    warn("an ask that no service of Vigil makes is refused", { id, node, problem });
    report(unwritten("refused", problem));
  };
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
