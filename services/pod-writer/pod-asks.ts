/** Tries one ask about a pod: the live reads, the decision, the writes. When to try again is the jobs' matter. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import {
  type Io,
  type KubeObject,
  type ObjectRef,
  type ReadReply,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { apiTime } from "../runtime/api-time.ts";
import { Interner } from "../runtime/kube.interner.ts";
import { projectNode, projectPod } from "../runtime/kube.projection.ts";
import type { Look, SharedReads } from "../runtime/shared-reads.ts";
import type { TryResult } from "../runtime/write-jobs.ts";
import { unread, unwritten, written } from "../runtime/write-result.ts";
import {
  disruptionTargetPatch,
  evictionVerdict,
  type LivePod,
  nodeLostPatch,
  readyAgain,
  type StatusPatch,
  unreadyPatch,
  unreadyVerdict,
  type Verdict,
} from "./pod-writer.policy.ts";

/** The types of ask about a pod. */
export type PodAskType = "asked.eviction" | "asked.unready";

/** An ask about a pod as it came in. */
export type PodAsk = {
  [T in PodAskType]: {
    readonly type: T;
    /** Id of its message. */
    readonly id: string;
    readonly body: BodyOf<T>;
    /** How far our wall clock was behind the sender's, in milliseconds. */
    readonly behindMs: number;
  };
}[PodAskType];

/** What a try works with. */
export interface PodAskIo {
  readonly io: Io;
  /** Pods of one node are asked about together: one look at their node serves all of them. */
  readonly nodes: SharedReads;
}

/**
 * How old the looks at a pod and its node may be when the write they allowed is sent, in milliseconds. The reads and
 * the write between may each take seconds on a slow server, in which the node may have come back.
 */
const LOOK_AGE_MAX_MS = 1000;

/** How long a look at a node serves further pods; it leaves each of them time to be written. */
export const NODE_LOOK_KEPT_MS = LOOK_AGE_MAX_MS / 2;

/**
 * How many nodes are looked at ahead of the writes of their pods. Each look brings the pods of a node; of many at once
 * most would wait until it is too old.
 */
export const NODE_LOOKS_AHEAD_MAX = 8;

/** What is told of a pod that was marked. */
const UNREADY = "Ready=False";

/**
 * Whether an ask says of a pod what an earlier one of its type did. Askers repeat themselves while many asks wait, and
 * by then the version that they saw is not the pod's any more.
 */
export function isRepeated(ask: PodAsk, earlier: PodAsk): boolean {
  return ask.body.uid === earlier.body.uid && versionSeen(ask) === versionSeen(earlier);
}

function versionSeen(ask: PodAsk): string | undefined {
  return ask.type === "asked.unready" ? ask.body.resourceVersion : undefined;
}

/** An ask together with the instant until which the looks at its pod and node count. */
interface FreshAsk {
  readonly ask: PodAsk;
  readonly sendBeforeMs: number;
}

type Report = (result: TryResult) => void;

const projection = { interner: new Interner(), problem: () => {} };

/**
 * Tries an ask: reads pod and node live, decides again, writes. The node comes second, so that with any number of pods
 * on it each is written soon after the look at it. A pod that only loses its readiness is not read at the first try:
 * when a zone falls, these writes are most of all there is to do, and the version seen is as good a precondition.
 */
export function tryPodAsk(around: PodAskIo, ask: PodAsk, hasFailed: boolean, report: Report): void {
  const seen = ask.type === "asked.unready" && !hasFailed ? ask.body.resourceVersion : undefined;
  if (seen !== undefined) markAsSeen(around, ask, seen, report);
  else lookAndAct(around, ask, (result) => report({ ...result, ...repetitionOf(around.io, ask, result) }));
}

/**
 * A drain that is called off (R6.10) leaves no trace at the API by which we could tell: when its ask is older than the
 * first pause between two of them, only its asker repeats it. One that the API denied is repeated by nobody else.
 */
function repetitionOf({ profile }: Io, { type, body }: PodAsk, { outcome }: TryResult): Partial<TryResult> {
  if (type !== "asked.eviction" || body.mode !== "direct") return {};
  return outcome === "denied" ? { isOnce: true } : { retriedForMs: profile.askRetryMs };
}

function markAsSeen(around: PodAskIo, ask: PodAsk, resourceVersion: string, report: Report): void {
  const { io } = around;
  readNode(around, ask, report, (node, nodeSeenMs) => {
    const recovered = readyAgain(node);
    if (recovered !== null) report(unwritten(recovered.outcome, recovered.detail));
    else {
      const body = unreadyPatch(ask.body.uid, resourceVersion, apiTime(io.clock.wallMs()));
      const fresh = { ask, sendBeforeMs: nodeSeenMs + LOOK_AGE_MAX_MS };
      patchStatus(io, fresh, body, (reply) => report(written(reply, UNREADY)));
    }
  });
}

function lookAndAct(around: PodAskIo, ask: PodAsk, report: Report): void {
  readPod(around, ask, report, (live) => {
    const podSeenMs = around.io.clock.monotonicMs();
    readNode(around, ask, report, (node, nodeSeenMs) => {
      const sendBeforeMs = Math.min(podSeenMs, nodeSeenMs) + LOOK_AGE_MAX_MS;
      decide(around.io, { ask, sendBeforeMs }, node, live, report);
    });
  });
}

function readPod({ io }: PodAskIo, ask: PodAsk, report: Report, proceed: (live: LivePod | null) => void): void {
  const take = (reply: ReadReply): void => {
    if (reply.outcome === "ok") proceed(livePod(reply.object));
    else if (reply.outcome === "gone") report(unwritten("gone", reply.detail));
    else report(unread("pod", reply));
  };
  io.kube.read(refOf(ask.body), take, { urgency: urgencyOf(ask), stepsBefore: 2 });
}

function readNode(
  { nodes }: PodAskIo,
  ask: PodAsk,
  report: Report,
  proceed: (node: ObservedNode, seenMs: number) => void,
): void {
  const name = ask.body.node;
  const take = ({ reply, seenMs }: Look): void => {
    const node = reply.outcome === "ok" ? projectNode(reply.object, projection) : null;
    if (node !== null) proceed(node, seenMs);
    else if (reply.outcome === "gone") report(unwritten("refused", `node ${name} is gone; its pods are not ours`));
    else report(reply.outcome === "ok" ? unwritten("failed", "the node read makes no sense") : unread("node", reply));
  };
  nodes.read({ kind: "Node", namespace: "", name }, take, { urgency: urgencyOf(ask), stepsBefore: 1 });
}

function urgencyOf({ type }: PodAsk): Urgency {
  return type === "asked.unready" ? Urgency.readiness : Urgency.eviction;
}

function decide(io: Io, fresh: FreshAsk, node: ObservedNode, live: LivePod | null, report: Report): void {
  const verdict = verdictOn(io, fresh.ask, node, live);
  if (verdict.kind === "moot") report(unwritten(verdict.outcome, verdict.detail));
  else if (live !== null) act(io, fresh, live, verdict, report);
}

function verdictOn({ profile, clock }: Io, ask: PodAsk, node: ObservedNode, live: LivePod | null): Verdict {
  if (ask.type === "asked.unready") return unreadyVerdict(ask.body, node, live);
  const comparisonOperators = profile.tolerationComparisonOperators;
  return evictionVerdict(ask.body, node, live, { comparisonOperators, wallMs: clock.wallMs(), behindMs: ask.behindMs });
}

function act(
  io: Io,
  fresh: FreshAsk,
  live: LivePod,
  { taint }: Extract<Verdict, { kind: "act" }>,
  report: Report,
): void {
  const { ask } = fresh;
  const now = apiTime(io.clock.wallMs());
  if (ask.type === "asked.unready") {
    patchStatus(io, fresh, unreadyPatch(live.pod.uid, live.resourceVersion, now), (reply) =>
      report(written(reply, UNREADY)),
    );
    return;
  }
  const patch = taint === null ? nodeLostPatch(live) : disruptionTargetPatch(live, taint, now);
  const change = taint === null ? `deleted: ${ask.body.node} is lost` : `deleted: ${taint.key}:${taint.effect}`;
  if (patch === null) {
    remove(io, fresh, change, report);
    return;
  }
  patchStatus(io, fresh, patch, (reply) => {
    if (mayDelete(reply, taint === null)) remove(io, fresh, change, report);
    else report(written(reply, change));
  });
}

/** A taint eviction needs its reason on the pod first (R8.27); a drain goes on without it, but not after a conflict. */
function mayDelete({ outcome }: WriteReply, isDrain: boolean): boolean {
  return outcome === "ok" || outcome === "shadowed" || (isDrain && outcome !== "conflict" && outcome !== "throttled");
}

function patchStatus(
  { kube }: Io,
  { ask, sendBeforeMs }: FreshAsk,
  body: StatusPatch,
  done: (reply: WriteReply) => void,
): void {
  const where = { ref: refOf(ask.body), urgency: urgencyOf(ask), sendBeforeMs, subresource: "status" } as const;
  kube.write({ ...where, verb: "patch", patch: "strategic", body }, done);
}

/** Deletes this pod and no other of its name, with its own grace (R8.30). */
function remove(io: Io, fresh: FreshAsk, change: string, report: Report): void {
  const { body } = fresh.ask;
  const where = { ref: refOf(body), urgency: Urgency.eviction, sendBeforeMs: fresh.sendBeforeMs };
  const request = { ...where, verb: "delete" as const, uid: body.uid };
  io.kube.write(request, (reply) => report(written(reply, change)));
}

function livePod(object: KubeObject): LivePod | null {
  const bound = projectPod(object, projection);
  return bound === null ? null : { ...bound, object };
}

function refOf({ namespace, name }: PodAsk["body"]): ObjectRef {
  return { kind: "Pod", namespace, name };
}
