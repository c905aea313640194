/** The live reads behind a write to a pod: its node always, the pod itself where no observed version will do. */
import type { KubeObject, Policies, ReadReply } from "../../protocols/ports.ts";
import { type LiveNode, liveNode } from "../platform/kube/watch/live-node.ts";
import { projectPod, UNREPORTED } from "../platform/kube/watch/projection.ts";
import type { LiveRead } from "../platform/requests/single-flight-reads.ts";
import type { TryResult } from "../platform/requests/write-jobs.ts";
import { unread, unwritten } from "../platform/requests/write-result.ts";
import { mayRestOnSilence } from "./lease.policy.ts";
import type { LeaseRead } from "./lease-renewals.ts";
import { type PodWriteAttempt, type PodWriterContext, refOf, urgencyOf } from "./pod-request.ts";
import type { LivePod, NotNeeded } from "./pod-writer.policy.ts";

/** How long a read of a node serves further pods, in milliseconds. */
export const NODE_READ_KEPT_MS = 500;

/** An attempt that waits for the next pulse of the observer is no failure of the API server. */
const SOON = { isLate: true, retryWithinMs: 1000 } as const;

/** Projects a node's read once for all its pods, and again after the policies have changed. */
export function nodeReader(policies: Pick<Policies, "current">): (reply: ReadReply) => NodeRead {
  return (reply) => nodeReadOf(reply, policies);
}

/** What a live read of a node found: its state, or how an attempt ends without it. */
export type NodeRead =
  | { readonly kind: "read"; readonly node: LiveNode }
  | { readonly kind: "unread"; readonly result: TryResult };

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

function nodeReadOf(reply: ReadReply, policies: Pick<Policies, "current">): NodeRead {
  if (reply.outcome === "gone") {
    return { kind: "unread", result: unwritten("refused", "its node is gone; the pod garbage collector deletes it") };
  }
  if (reply.outcome !== "ok") return { kind: "unread", result: unread("node", reply) };
  const node = liveNode(reply.object, policies);
  if (node !== null) return { kind: "read", node };
  return { kind: "unread", result: unwritten("failed", "the node as read is not a valid Node") };
}

/** Reads the node of a request and proceeds with it, or reports why not. */
export function readNode(
  context: PodWriterContext,
  attempt: PodWriteAttempt,
  proceed: (read: LiveNodeRead) => void,
): void {
  takeNode(context, attempt, (read) => withNode(read, attempt, proceed));
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
  const { ask, report } = attempt;
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
    takeNode(context, attempt, (taken) => {
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
  kube.read(refOf(ask), take, { urgency: urgencyOf(ask), stepsBefore: 2, sent: requestNode });
}

/** A pod as the API sent it; null if it is bound to no node. */
export function livePod(object: KubeObject): LivePod | null {
  const bound = projectPod(object, UNREPORTED);
  return bound === null ? null : { ...bound, object };
}

/** A node and its lease as read live; null where no lease is needed. */
interface LiveParts {
  readonly node: LiveRead<NodeRead>;
  readonly lease: LiveRead<LeaseRead> | null;
}

/** Reads the node of a request, and in parallel its lease if the request may rest on the silence of the node. */
function takeNode(
  { nodes, leases }: PodWriterContext,
  { ask, isReadAgain, isLeaseNeeded }: PodWriteAttempt,
  take: (read: LiveParts) => void,
): void {
  const needsLease = isLeaseNeeded === true || (ask.type === "asked.eviction" && mayRestOnSilence(ask.body));
  let node: LiveRead<NodeRead> | null = null;
  let lease: LiveRead<LeaseRead> | null = null;
  const join = (): void => {
    if (node !== null && (lease !== null || !needsLease)) take({ node, lease });
  };
  const ref = { kind: "Node", namespace: "", name: ask.body.node } as const;
  // An eviction sends two requests after this read.
  const place = { urgency: urgencyOf(ask), stepsBefore: ask.type === "asked.eviction" ? 2 : 1 } as const;
  const sentSinceMs = isReadAgain === true ? ask.receivedMs : undefined;
  const onNode = (read: LiveRead<NodeRead>): void => {
    node = read;
    join();
  };
  const onLease = (read: LiveRead<LeaseRead>): void => {
    lease = read;
    join();
  };
  nodes.read(ref, onNode, place, sentSinceMs);
  if (needsLease) leases.read(ask.body.node, onLease, sentSinceMs);
}

/**
 * Ends an attempt that need not write. A node that was read before the request came may have failed since, so such a
 * read ends nothing: the attempt is made again with a newer one.
 */
export function endUnneeded<A extends PodWriteAttempt>(
  attempt: A,
  { sentAtMs }: LiveNodeRead,
  { outcome, detail }: NotNeeded,
  attemptAgain: (attempt: A) => void,
): void {
  if (outcome === "refused" && sentAtMs < attempt.ask.receivedMs) attemptAgain({ ...attempt, isReadAgain: true });
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
