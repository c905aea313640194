/** Translates replies of the Kubernetes API into results of a writer's attempt. */
import type { Outcome } from "../../../protocols/done.ts";
import type { Io, ReadReply, WriteReply } from "../../../protocols/ports.ts";
import { limitedWarn } from "../process/log.limited.ts";
import type { TryResult } from "./write-jobs.ts";

const WARNING_PAUSE_MS = 1000;

interface NamedRequest {
  readonly id: string;
  readonly body: { readonly node: string };
}

/** The result of an attempt that wrote nothing. */
export function unwritten(outcome: Outcome, detail: string): TryResult {
  return { outcome, change: "", detail, resourceVersion: null };
}

/** Returns a function that refuses a request which no service of Vigil makes, so a forged one, and logs it. */
export function forbiddenRefusal({ log, clock }: Pick<Io, "log" | "clock">) {
  const warn = limitedWarn(log, clock, WARNING_PAUSE_MS);
  return ({ id, body: { node } }: NamedRequest, problem: string, report: (result: TryResult) => void): void => {
    warn("refuses a request that no service of Vigil makes", { id, node, problem });
    report(unwritten("refused", problem));
  };
}

/** The result of an attempt that wrote; `change` says what was written, or would have been. */
export function written(reply: WriteReply, change: string): TryResult {
  if (reply.outcome === "ok") {
    const resourceVersion = reply.object.metadata.resourceVersion ?? null;
    return { outcome: "ok", change, detail: "", resourceVersion };
  }
  const { detail } = reply;
  const failed = { change, detail, resourceVersion: null };
  if (reply.outcome === "throttled") return { ...failed, outcome: "throttled", retryAfterMs: reply.retryAfterMs };
  if (reply.isLate === true) return { ...failed, outcome: "failed", isLate: true };
  return { ...failed, outcome: reply.outcome === "exists" ? "failed" : reply.outcome };
}

/** The result of an attempt whose live read of `what` failed: without it nothing is written. */
export function unread(what: string, reply: Exclude<ReadReply, { outcome: "ok" }>): TryResult {
  const pause = reply.outcome === "throttled" ? { retryAfterMs: reply.retryAfterMs } : {};
  return { ...unwritten(reply.outcome, `the ${what} could not be read: ${reply.detail}`), ...pause };
}
