/** Attempts one request about a pod: live reads, decision, writes. WriteJobs decides when to retry. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, PodShadow, Taint } from "../../protocols/objects.ts";
import {
  type Io,
  type KubeObject,
  type ObjectRef,
  type ReadReply,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { apiTime } from "../domain/api-time.ts";
import { projectNode, projectPod } from "../platform/kube/watch/projection.ts";
import { guardedPatch, type PatchOperation } from "../platform/requests/guarded-patch.ts";
import type { LiveRead, SingleFlightReads } from "../platform/requests/single-flight-reads.ts";
import type { TryHistory, TryResult } from "../platform/requests/write-jobs.ts";
import { unread, unwritten, written } from "../platform/requests/write-result.ts";
import { Interner } from "../platform/structures/interner.ts";
import {
  decideEviction,
  decideUnready,
  deletePreconditions,
  disruptionTargetPatch,
  type LivePod,
  mayDeleteUnmarked,
  nodeLostPatch,
  notDown,
  type PodWriteDecision,
  type StatusPatch,
  unreadyPatch,
} from "./pod-writer.policy.ts";

/** The messages that request a write to a pod. */
export type PodRequestType = "asked.eviction" | "asked.unready";

/** A request about a pod as received. */
export type PodRequest = {
  [T in PodRequestType]: {
    readonly type: T;
    readonly id: string;
    readonly body: BodyOf<T>;
    /** How far our wall clock was behind the requester's, in milliseconds. */
    readonly behindMs: number;
  };
}[PodRequestType];

/** What the attempts of one writer share. */
export interface PodWriterContext {
  readonly io: Io;
  /** Requests for the pods of one node come together, so one live read of the node serves them all. */
  readonly nodes: SingleFlightReads;
  /** The latest possible present instant, epoch milliseconds. */
  readonly latestMs: () => number;
}

/** How long a read of a node serves further pods, in milliseconds. */
export const NODE_READ_KEPT_MS = 500;

/** The change that marks a pod not ready. */
const UNREADY = "Ready=False";

/** Whether a request repeats an earlier one of its type: requesters retry while many requests wait. */
export function isRepeated(ask: PodRequest, earlier: PodRequest): boolean {
  return ask.body.uid === earlier.body.uid && versionSeen(ask) === versionSeen(earlier);
}

function versionSeen(ask: PodRequest): string | undefined {
  return ask.type === "asked.unready" ? ask.body.resourceVersion : undefined;
}

/** One attempt of a request. */
interface PodWriteAttempt {
  readonly ask: PodRequest;
  readonly history: TryHistory;
  readonly report: Report;
}

interface LivePodRead {
  readonly live: LivePod | null;
  readonly readAtMs: number;
}

interface LiveNodeRead {
  readonly node: ObservedNode;
  readonly readAtMs: number;
}

type Report = (result: TryResult) => void;

const projection = { interner: new Interner(), problem: () => {} };

/**
 * Attempts a request: reads pod and node live, decides again, writes. The first attempt to mark a pod not ready does
 * not read the pod, because the version seen is as good a precondition and these writes are most of the work when a
 * zone fails.
 */
export function attemptPodWrite(context: PodWriterContext, ask: PodRequest, history: TryHistory, report: Report): void {
  const seen = ask.type === "asked.unready" && history.failures === 0 ? ask.body.resourceVersion : undefined;
  if (seen !== undefined) markAsSeen(context, ask, seen, report);
  else {
    const reported = (result: TryResult): void => report({ ...result, ...retryRulesOf(context.io, ask, result) });
    const attempt = { ask, history, report: reported };
    readBoth(context, attempt, (pod, node) => decide(context, attempt, pod, node));
  }
}

/**
 * The end of a drain (R6.10) does not show at the API. So a drain request that failed is retried here only until the
 * requester's first retry is due, and one that the API denied not at all.
 */
function retryRulesOf({ profile }: Io, { type, body }: PodRequest, { outcome }: TryResult): Partial<TryResult> {
  if (type !== "asked.eviction" || body.mode !== "direct") return {};
  return outcome === "denied" ? { isOnce: true } : { retriedForMs: profile.askRetryMs };
}

function markAsSeen(context: PodWriterContext, ask: PodRequest, resourceVersion: string, report: Report): void {
  const { io } = context;
  readNode(context, ask, (read) =>
    withNode(read, ask, report, ({ node, readAtMs }) => {
      const notNeeded = notDown(node);
      if (notNeeded !== null) report(unwritten(notNeeded.outcome, notNeeded.detail));
      else {
        const body = unreadyPatch(ask.body.uid, resourceVersion, apiTime(io.clock.wallMs()));
        patchStatus(io, ask, { body, readAtMs }, (reply) => report(unreadyResult(io, reply)));
      }
    }),
  );
}

/**
 * Reads the pod and its node in parallel and proceeds with both. The node's read begins when the pod's is sent, so that
 * neither is old when the other arrives, however many pods are queued.
 */
function readBoth(
  context: PodWriterContext,
  { ask, report }: PodWriteAttempt,
  proceed: (pod: LivePodRead, node: LiveNodeRead) => void,
): void {
  const { kube, clock } = context.io;
  let pod: LivePodRead | null = null;
  let nodeRead: LiveRead | null = null;
  let isNodeRequested = false;
  const join = (): void => {
    const known = pod;
    if (known !== null && nodeRead !== null) withNode(nodeRead, ask, report, (node) => proceed(known, node));
  };
  const requestNode = (): void => {
    if (isNodeRequested) return;
    isNodeRequested = true;
    readNode(context, ask, (taken) => {
      nodeRead = taken;
      join();
    });
  };
  const take = (reply: ReadReply): void => {
    if (reply.outcome === "ok") {
      pod = { live: livePod(reply.object), readAtMs: clock.monotonicMs() };
      requestNode();
      join();
    } else if (reply.outcome === "gone") report(unwritten("gone", reply.detail));
    else report(unread("pod", reply));
  };
  kube.read(refOf(ask.body), take, { urgency: urgencyOf(ask), stepsBefore: 2, sent: requestNode });
}

function readNode({ nodes }: PodWriterContext, ask: PodRequest, done: (read: LiveRead) => void): void {
  const ref = { kind: "Node", namespace: "", name: ask.body.node } as const;
  nodes.read(ref, done, { urgency: urgencyOf(ask), stepsBefore: 1 });
}

function withNode(
  { reply, readAtMs }: LiveRead,
  ask: PodRequest,
  report: Report,
  proceed: (read: LiveNodeRead) => void,
): void {
  const node = reply.outcome === "ok" ? projectNode(reply.object, projection) : null;
  if (node !== null) proceed({ node, readAtMs });
  else if (reply.outcome === "gone") {
    report(unwritten("refused", `node ${ask.body.node} is gone; the pod garbage collector deletes its pods`));
  } else
    report(
      reply.outcome === "ok" ? unwritten("failed", "the node as read is not a valid Node") : unread("node", reply),
    );
}

function urgencyOf({ type }: PodRequest): Urgency {
  return type === "asked.unready" ? Urgency.readiness : Urgency.eviction;
}

function decide(
  context: PodWriterContext,
  attempt: PodWriteAttempt,
  { live, readAtMs }: LivePodRead,
  node: LiveNodeRead,
): void {
  const { io } = context;
  const { ask, report } = attempt;
  const decision = decisionOn(context, ask, node.node, live);
  const oldest = { readAtMs: Math.min(readAtMs, node.readAtMs) };
  if (decision.kind === "moot") report(unwritten(decision.outcome, decision.detail));
  else if (live === null) report(unwritten("gone", "the pod is bound to no node"));
  else if (ask.type === "asked.eviction") evict(context, attempt, { live, ...oldest, node, taint: decision.taint });
  else {
    // Tests fields instead of the version, because some pods change faster than a slow server answers.
    const body = unreadyPatch(live.pod.uid, live.resourceVersion, apiTime(io.clock.wallMs()));
    const guarded = guardedPatch(body, live.object);
    const patch = guarded === null ? { body } : { patch: "json" as const, body: guarded };
    patchStatus(io, ask, { ...patch, ...oldest }, (reply) => report(unreadyResult(io, reply)));
  }
}

function decisionOn(
  { io, latestMs }: PodWriterContext,
  ask: PodRequest,
  node: ObservedNode,
  live: LivePod | null,
): PodWriteDecision {
  if (ask.type === "asked.unready") return decideUnready(ask.body, node, live);
  const comparisonOperators = io.profile.tolerationComparisonOperators;
  const instants = { wallMs: io.clock.wallMs(), latestMs: latestMs(), behindMs: ask.behindMs };
  return decideEviction(ask.body, node, live, { comparisonOperators, ...instants });
}

/** A pod to evict, with the reads and the taint that decided. */
interface PodEviction {
  readonly live: LivePod;
  readonly node: LiveNodeRead;
  /** The older of the two reads, on the monotonic clock. */
  readonly readAtMs: number;
  /** Null in direct mode. */
  readonly taint: Taint | null;
}

/**
 * Marks the pod with the reason of its eviction, then deletes it. The reply to the mark shows the newest version of the
 * pod: the decision is repeated for this version, and this version is deleted.
 */
function evict(context: PodWriterContext, attempt: PodWriteAttempt, eviction: PodEviction): void {
  const { io } = context;
  const { ask, history, report } = attempt;
  const { live, node, readAtMs, taint } = eviction;
  const body = taint === null ? nodeLostPatch(live) : disruptionTargetPatch(live, taint, apiTime(io.clock.wallMs()));
  const change = taint === null ? `deleted: ${ask.body.node} is lost` : `deleted: ${taint.key}:${taint.effect}`;
  if (body === null) {
    remove(io, attempt, eviction, change);
    return;
  }
  patchStatus(io, ask, { body, readAtMs }, (reply) => {
    if (reply.outcome === "ok") {
      const marked = livePod(reply.object);
      const decision = decisionOn(context, ask, node.node, marked);
      if (decision.kind === "moot") report(unwritten(decision.outcome, decision.detail));
      else if (marked !== null) remove(io, attempt, { live: marked, readAtMs: node.readAtMs }, change);
    } else if (reply.outcome === "shadowed") remove(io, attempt, eviction, change);
    else if (mayDeleteUnmarked(reply.outcome, taint === null, history, io.clock.monotonicMs())) {
      remove(io, attempt, eviction, `${change}, unmarked (${reply.detail})`);
    } else report(unmarked(written(reply, change)));
  });
}

/** A patch of a pod's status; `readAtMs` is when the older of its reads was answered. */
interface StatusWrite {
  readonly patch?: "strategic" | "json";
  readonly body: StatusPatch | readonly PatchOperation[];
  readonly readAtMs: number;
}

/** The deletion was not sent, so it failed, even if the reply to the mark was lost. */
function unmarked(result: TryResult): TryResult {
  if (result.outcome !== "unknown") return result;
  return { ...result, outcome: "failed", detail: `the reply to marking the pod was lost: ${result.detail}` };
}

function patchStatus(
  { kube }: Io,
  ask: PodRequest,
  { patch = "strategic", body, readAtMs }: StatusWrite,
  done: (reply: WriteReply) => void,
): void {
  const where = { ref: refOf(ask.body), urgency: urgencyOf(ask), readAtMs, subresource: "status" } as const;
  kube.write({ ...where, verb: "patch", patch, body }, done);
}

/** Deletes exactly this pod, with its own grace period (R8.30). */
function remove(
  { kube, clock }: Io,
  { ask, history, report }: PodWriteAttempt,
  { live, readAtMs }: { readonly live: LivePod; readonly readAtMs: number },
  change: string,
): void {
  const where = { ref: refOf(ask.body), urgency: Urgency.eviction, readAtMs };
  kube.write({ ...where, verb: "delete", ...deletePreconditions(live, history) }, (reply) =>
    report(writtenOr(reply, change, { deletedAt: clock.wallMs() })),
  );
}

function unreadyResult({ clock }: Io, reply: WriteReply): TryResult {
  return writtenOr(reply, UNREADY, { unreadyAt: clock.wallMs() });
}

/** The result of a write; a shadowed one carries what it would have changed. */
function writtenOr(reply: WriteReply, change: string, podShadow: PodShadow): TryResult {
  const result = written(reply, change);
  return reply.outcome === "shadowed" ? { ...result, podShadow } : result;
}

function livePod(object: KubeObject): LivePod | null {
  const bound = projectPod(object, projection);
  return bound === null ? null : { ...bound, object };
}

function refOf({ namespace, name }: PodRequest["body"]): ObjectRef {
  return { kind: "Pod", namespace, name };
}
