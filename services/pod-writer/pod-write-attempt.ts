/** Attempts one request about a pod: live reads, decision, writes. WriteJobs decides when to retry. */
import type { Io, WriteReply } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { apiTime } from "../domain/api-time.ts";
import { guardedPatch } from "../platform/requests/guarded-patch.ts";
import { type TryHistory, type TryResult, unwritten } from "../platform/requests/write-jobs.ts";
import { attemptEviction } from "./pod-eviction.ts";
import { endUnneeded, type LiveNodeRead, type LivePodRead, readBoth, readNode } from "./pod-reads.ts";
import { type PodRequest, type PodWriteAttempt, type PodWriterContext, patchStatus, writtenOr } from "./pod-request.ts";
import { decideUnready, notDown, unreadyPatch } from "./pod-writer.policy.ts";

/** An attempt of `asked.unready`. */
type UnreadyAttempt = PodWriteAttempt & { readonly request: { readonly type: "asked.unready" } };

/** Attempts a request: reads live objects as needed, decides again, writes, and reports once. */
export function attemptPodWrite(
  context: PodWriterContext,
  request: PodRequest,
  history: TryHistory,
  report: (result: TryResult) => void,
): void {
  const reported = (result: TryResult): void => report({ ...result, ...retryRulesOf(context.io, request, result) });
  if (isStaleDrain(request, context.io.profile))
    report(unwritten("refused", "the request was old when it was received"));
  else if (request.type === "asked.eviction") attemptEviction(context, { request, history, report: reported });
  else attemptUnready(context, { request, history, report: reported });
}

/**
 * Whether a request to drain was received later than a pulse may be. This process may have been suspended, and a halt
 * may have ended the drain meanwhile. While the drain lasts, it is requested again.
 */
function isStaleDrain({ type, body, behindMs }: PodRequest, profile: Pick<Profile, "pulseTimeoutMs">): boolean {
  return type === "asked.eviction" && body.mode === "direct" && -behindMs > profile.pulseTimeoutMs;
}

/**
 * The end of a drain (R6.10) does not show at the API. So a failed drain request is retried here only until the
 * requester's first retry is due. A request that the API denied is not retried here.
 */
function retryRulesOf({ profile }: Io, { type, body }: PodRequest, { outcome }: TryResult): Partial<TryResult> {
  if (type !== "asked.eviction" || body.mode !== "direct") return {};
  return outcome === "denied" ? { isOnce: true } : { retriedForMs: profile.askRetryMs };
}

/**
 * The first attempt to mark a pod not ready does not read the pod, because the version seen is as good a precondition
 * and these writes are most of the work when a zone fails.
 */
function attemptUnready(context: PodWriterContext, attempt: UnreadyAttempt): void {
  const { resourceVersion } = attempt.request.body;
  if (resourceVersion === undefined || attempt.history.failures > 0) {
    readBoth(context, attempt, (pod, node) => markAsRead(context, attempt, pod, node));
    return;
  }
  readNode(context, attempt, (node) => markAsSeen(context, attempt, resourceVersion, node));
}

function markAsSeen(
  context: PodWriterContext,
  attempt: UnreadyAttempt,
  resourceVersion: string,
  read: LiveNodeRead,
): void {
  const { io } = context;
  const { request, report } = attempt;
  const notNeeded = notDown(read.node());
  if (notNeeded !== null) endUnneeded(attempt, read, notNeeded, (again) => attemptUnready(context, again));
  else {
    const { readAtMs } = read;
    const bodyAtSend = () => unreadyPatch(request.body.uid, resourceVersion, apiTime(io.clock.wallMs()));
    patchStatus(io.kube, request, { bodyAtSend, readAtMs }, (reply) => report(unreadyResult(io, reply)));
  }
}

function markAsRead(
  context: PodWriterContext,
  attempt: UnreadyAttempt,
  { live, ...pod }: LivePodRead,
  read: LiveNodeRead,
): void {
  const { io } = context;
  const { request, report } = attempt;
  const decision = decideUnready(request.body, read.node(), live);
  if (decision.kind === "moot") endUnneeded(attempt, read, decision, (again) => attemptUnready(context, again));
  else if (live !== null) {
    // Tests fields instead of the version, because some pods change faster than a slow server answers.
    const body = () => unreadyPatch(live.pod.uid, live.resourceVersion, apiTime(io.clock.wallMs()));
    const guarded = () => guardedPatch(body(), live.object);
    const patch = guarded() === null ? { bodyAtSend: body } : { patch: "json" as const, bodyAtSend: guarded };
    const readAtMs = Math.min(pod.readAtMs, read.readAtMs);
    patchStatus(io.kube, request, { ...patch, readAtMs }, (reply) => report(unreadyResult(io, reply)));
  }
}

/** The change that marks a pod not ready. */
const UNREADY = "Ready=False";

function unreadyResult({ clock }: Pick<Io, "clock">, reply: WriteReply): TryResult {
  return writtenOr(reply, UNREADY, { unreadyAt: clock.wallMs() });
}
