/** Tries one ask about a pod: the live reads, the decision, the writes. When to try again is the jobs' matter. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
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

/** The types of ask about a pod. */
export type PodRequestType = "asked.eviction" | "asked.unready";

/** An ask about a pod as it came in. */
export type PodRequest = {
  [T in PodRequestType]: {
    readonly type: T;
    /** Id of its message. */
    readonly id: string;
    readonly body: BodyOf<T>;
    /** How far our wall clock was behind the sender's, in milliseconds. */
    readonly behindMs: number;
  };
}[PodRequestType];

/** What a try works with. */
export interface PodWriterContext {
  readonly io: Io;
  /** Pods of one node are asked about together: one look at their node serves all of them. */
  readonly nodes: SingleFlightReads;
  /** The latest instant that it can be now, epoch milliseconds. */
  readonly latestMs: () => number;
}

/** How long a read of a node serves further pods, in milliseconds. */
export const NODE_READ_KEPT_MS = 500;

/** What is told of a pod that was marked. */
const UNREADY = "Ready=False";

/**
 * Whether an ask says of a pod what an earlier one of its type did. Askers repeat themselves while many asks wait, and
 * by then the version that they saw is not the pod's any more.
 */
export function isRepeated(ask: PodRequest, earlier: PodRequest): boolean {
  return ask.body.uid === earlier.body.uid && versionSeen(ask) === versionSeen(earlier);
}

function versionSeen(ask: PodRequest): string | undefined {
  return ask.type === "asked.unready" ? ask.body.resourceVersion : undefined;
}

/** One try of an ask. */
interface PodWriteAttempt {
  readonly ask: PodRequest;
  readonly history: TryHistory;
  readonly report: Report;
}

/** A pod that was read live, and when. */
interface LivePodRead {
  readonly live: LivePod | null;
  readonly readAtMs: number;
}

/** A node that was read live, and when. */
interface LiveNodeRead {
  readonly node: ObservedNode;
  readonly readAtMs: number;
}

type Report = (result: TryResult) => void;

const projection = { interner: new Interner(), problem: () => {} };

/**
 * Tries an ask: reads pod and node live, decides again, writes. A pod that only loses its readiness is not read at the
 * first try: when a zone falls, these writes are most of all there is to do, and the version seen is as good a
 * precondition.
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
 * A drain that is called off (R6.10) leaves no trace at the API by which we could tell: when its ask is older than the
 * first pause between two of them, only its asker repeats it. One that the API denied is repeated by nobody else.
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
        patchStatus(io, ask, { body, readAtMs }, (reply) => report(written(reply, UNREADY)));
      }
    }),
  );
}

/**
 * Reads the pod and its node beside each other and goes on when both are there. The read of the node begins when that
 * of the pod is sent: with any number of pods in the queue, neither is old when the other comes.
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
  if (node !== null) proceed({ node, readAtMs: readAtMs });
  else if (reply.outcome === "gone") {
    report(unwritten("refused", `node ${ask.body.node} is gone; its pods are not ours`));
  } else report(reply.outcome === "ok" ? unwritten("failed", "the node read makes no sense") : unread("node", reply));
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
    // Bound to what was read rather than to its version: some pods change faster than a slow server answers.
    const body = unreadyPatch(live.pod.uid, live.resourceVersion, apiTime(io.clock.wallMs()));
    const guarded = guardedPatch(body, live.object);
    const patch = guarded === null ? { body } : { patch: "json" as const, body: guarded };
    patchStatus(io, ask, { ...patch, ...oldest }, (reply) => report(written(reply, UNREADY)));
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

/** A pod that is to be evicted, and what that rests on. */
interface PodEviction {
  readonly live: LivePod;
  readonly node: LiveNodeRead;
  /** The older of the two reads, on the monotonic clock. */
  readonly readAtMs: number;
  /** The taint that decided; null in direct mode. */
  readonly taint: Taint | null;
}

/**
 * Says on the pod why it goes, then deletes it. The answer to the first write shows the pod as it is by then: it is
 * judged once more, and this version of it is deleted.
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

/** A patch of a pod's status, and when the older of the reads was answered that it rests on. */
interface StatusWrite {
  readonly patch?: "strategic" | "json";
  readonly body: StatusPatch | readonly PatchOperation[];
  readonly readAtMs: number;
}

/**
 * A deletion that was not sent because its mark failed has failed itself, also where the reply to the mark was lost.
 */
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

/** Deletes this pod and no other of its name, with its own grace (R8.30). */
function remove(
  { kube }: Io,
  { ask, history, report }: PodWriteAttempt,
  { live, readAtMs }: { readonly live: LivePod; readonly readAtMs: number },
  change: string,
): void {
  const where = { ref: refOf(ask.body), urgency: Urgency.eviction, readAtMs };
  kube.write({ ...where, verb: "delete", ...deletePreconditions(live, history) }, (reply) =>
    report(written(reply, change)),
  );
}

function livePod(object: KubeObject): LivePod | null {
  const bound = projectPod(object, projection);
  return bound === null ? null : { ...bound, object };
}

function refOf({ namespace, name }: PodRequest["body"]): ObjectRef {
  return { kind: "Pod", namespace, name };
}
