/** The live reads before a write to a pod: always its node, and the pod itself if no observed version suffices. */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io, Policies, ReadReply, ShownReply } from "../../protocols/ports.ts";
import { policyOf } from "../domain/node-policy.ts";
import { type LiveNode, liveNode } from "../platform/kube/watch/projection.ts";
import { type LiveRead, SingleFlightReads } from "../platform/requests/single-flight-reads.ts";
import { unread, unwritten } from "../platform/requests/write-jobs.ts";
import { mayRestOnSilence } from "./lease.policy.ts";
import type { LeaseRead } from "./lease-renewals.ts";
import { type NodeRead, type PodWriteAttempt, type PodWriterContext, refOf, urgencyOf } from "./pod-request.ts";
import { type LivePod, livePod, type NotNeeded } from "./pod-writer.policy.ts";

/** How long a read of a node serves further pods, in milliseconds. */
export const NODE_READ_KEPT_MS = 500;

/** The wait for the next pulse of the observer is no failure of the API server. */
const SOON = { isLate: true, retryWithinMs: 1000 } as const;

/** Reads of nodes: live, or of a proven watch. */
export function nodeReads({ kube, clock, policies, profile }: Io): SingleFlightReads<NodeRead> {
  return new SingleFlightReads({
    kube,
    clock,
    keptMs: NODE_READ_KEPT_MS,
    waitersMax: profile.writesInFlightMax,
    project: (reply) => nodeReadOf(reply, policies),
    readShown: (ref, { place, sentSinceMs }, done) => {
      const onReply = (reply: ReadReply | ShownReply<ObservedNode>): void => {
        const found = reply.outcome === "shown" ? shownNode(reply, policies) : reply;
        if (found === null) kube.read(ref, done, place);
        else done(found);
      };
      kube.readShown("nodes", ref, onReply, { place, sentSinceMs });
    },
  });
}

function nodeReadOf(reply: ReadReply, policies: Pick<Policies, "current">): NodeRead {
  if (reply.outcome === "gone") {
    return { kind: "unread", result: unwritten("refused", "its node is gone; the pod garbage collector deletes it") };
  }
  if (reply.outcome !== "ok") return { kind: "unread", result: unread("node", reply) };
  const node = liveNode(reply.object, policies);
  if (node !== null) return { kind: "read", node };
  return { kind: "unread", result: unwritten("failed", "the node as read is not a valid Node") };
}

/**
 * A node as a proven watch shows it; null if the watch lacks labels that the present policies select by. Each later use
 * of it reads the watch again.
 */
function shownNode(
  { object, view }: ShownReply<ObservedNode>,
  policies: Pick<Policies, "current">,
): LiveRead<NodeRead> | null {
  if (policyOf(object, policies.current()).kind === "unknown") return null;
  const { sentAtMs, readAtMs } = view;
  return { found: { kind: "read", node: () => view.held("", object.node) ?? object }, sentAtMs, readAtMs };
}

/** A node as read live, and when that was sent and answered on the monotonic clock. */
export interface LiveNodeRead {
  readonly node: LiveNode;
  /** Its lease, read in parallel; null where the request did not need it. */
  readonly lease: LiveRead<LeaseRead> | null;
  readonly sentAtMs: number;
  readonly readAtMs: number;
}

/** A pod as read live; null if it is bound to no node. */
export interface LivePodRead {
  readonly live: LivePod | null;
  readonly readAtMs: number;
}

/** Reads the node of a request and proceeds with it, or reports why not. */
export function readNode(
  context: PodWriterContext,
  attempt: PodWriteAttempt,
  proceed: (read: LiveNodeRead) => void,
): void {
  readParts(context, attempt, (read) => withNode(read, attempt, proceed));
}

/**
 * Reads the pod and its node in parallel and proceeds with both. The node's read begins when the pod's is sent, so that
 * neither is old when the other arrives, however many pods are queued.
 */
export function readBoth(
  context: PodWriterContext,
  attempt: PodWriteAttempt,
  proceed: (pod: LivePodRead, node: LiveNodeRead) => void,
): void {
  const { kube, clock } = context.io;
  const { request, report } = attempt;
  let pod: LivePodRead | null = null;
  let nodeRead: LiveParts | null = null;
  let isNodeRequested = false;
  const join = (): void => {
    const known = pod;
    if (known !== null && nodeRead !== null) withNode(nodeRead, attempt, (node) => proceed(known, node));
  };
  const requestNode = (): void => {
    if (isNodeRequested) return;
    isNodeRequested = true;
    readParts(context, attempt, (read) => {
      nodeRead = read;
      join();
    });
  };
  const onReply = (reply: ReadReply): void => {
    if (reply.outcome === "ok") {
      pod = { live: livePod(reply.object), readAtMs: clock.monotonicMs() };
      requestNode();
      join();
    } else if (reply.outcome === "gone") report(unwritten("gone", reply.detail));
    else report(unread("pod", reply));
  };
  kube.read(refOf(request), onReply, { urgency: urgencyOf(request), stepsBefore: 2, sent: requestNode });
}

/** A node and its lease as read live; null where no lease is needed. */
interface LiveParts {
  readonly node: LiveRead<NodeRead>;
  readonly lease: LiveRead<LeaseRead> | null;
}

/** Reads the node of a request, and in parallel its lease if the request may rest on the silence of the node. */
function readParts(
  { nodes, leases }: PodWriterContext,
  { request, isReadAgain, isLeaseNeeded }: PodWriteAttempt,
  withParts: (read: LiveParts) => void,
): void {
  const needsLease = isLeaseNeeded === true || (request.type === "asked.eviction" && mayRestOnSilence(request.body));
  let node: LiveRead<NodeRead> | null = null;
  let lease: LiveRead<LeaseRead> | null = null;
  const join = (): void => {
    if (node !== null && (lease !== null || !needsLease)) withParts({ node, lease });
  };
  const ref = { kind: "Node", namespace: "", name: request.body.node } as const;
  // An eviction sends two requests after this read.
  const place = { urgency: urgencyOf(request), stepsBefore: request.type === "asked.eviction" ? 2 : 1 } as const;
  const sentSinceMs = isReadAgain === true ? request.receivedMs : undefined;
  const onNode = (read: LiveRead<NodeRead>): void => {
    node = read;
    join();
  };
  const onLease = (read: LiveRead<LeaseRead>): void => {
    lease = read;
    join();
  };
  nodes.read(ref, onNode, place, sentSinceMs);
  if (needsLease) leases.read(request.body.node, onLease, sentSinceMs);
}

/**
 * Ends an attempt that need not write. A node that was read before the request was received may have failed since, so
 * such a read ends nothing: the attempt is repeated with a newer one.
 */
export function endUnneeded<A extends PodWriteAttempt>(
  attempt: A,
  { sentAtMs }: LiveNodeRead,
  { outcome, detail }: NotNeeded,
  attemptAgain: (attempt: A) => void,
): void {
  if (outcome === "refused" && sentAtMs < attempt.request.receivedMs) attemptAgain({ ...attempt, isReadAgain: true });
  else if (outcome === "failed") attempt.report({ ...unwritten(outcome, detail), ...SOON });
  else attempt.report(unwritten(outcome, detail));
}

function withNode(
  { node: { found, ...read }, lease }: LiveParts,
  { report }: PodWriteAttempt,
  proceed: (read: LiveNodeRead) => void,
): void {
  if (found.kind === "read") proceed({ node: found.node, lease, ...read });
  else report(found.result);
}
