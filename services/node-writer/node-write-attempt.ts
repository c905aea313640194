/**
 * Tries one ask about a node: the live reads before it, the decision, the patch. When to try again is the jobs' matter.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import { LEASE_NAMESPACE, TaintEffect } from "../../protocols/names.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import {
  type Io,
  type KubeObject,
  type ObjectRef,
  type ReadPlace,
  type ReadReply,
  Urgency,
} from "../../protocols/ports.ts";
import { projectLease, projectNode } from "../platform/kube/watch/projection.ts";
import { guardedPatch, type VersionedPatch, versionedTaintPatch } from "../platform/requests/guarded-patch.ts";
import type { TryResult } from "../platform/requests/write-jobs.ts";
import { unread, unwritten, written } from "../platform/requests/write-result.ts";
import { Interner } from "../platform/structures/interner.ts";
import {
  decideConditions,
  decideLabels,
  decideTaints,
  type NodePatch,
  type NodeWriteDecision,
  refutesSilence,
} from "./node-writer.policy.ts";

type NodeRequestType = "asked.condition" | "asked.taint" | "asked.label";

/** An ask about a node, with the id of the message it came in. */
export type NodeRequest = {
  [T in NodeRequestType]: { readonly type: T; readonly id: string; readonly body: BodyOf<T> };
}[NodeRequestType];

type Report = (result: TryResult) => void;

/** One try of an ask. */
interface NodeWriteAttempt {
  readonly ask: NodeRequest;
  readonly hasFailed: boolean;
  /** The ask that stands now: it may have come while this one waited for its reads. */
  readonly newest: () => NodeRequest;
}

/** A node as it was just read: as the product projects it, and as the API sent it. */
interface LiveNode {
  readonly node: ObservedNode;
  readonly object: KubeObject;
}

const projection = { interner: new Interner(), problem: () => {} };

/** Whether two asks want the same of the same node, whatever versions and signs of life they rest on. */
export function isSameChange(ask: NodeRequest, earlier: NodeRequest): boolean {
  return changeOf(ask) === changeOf(earlier);
}

/** Whether an ask only repeats an earlier one: it wants the same, and its asker has seen no other version since. */
export function isRepeated(ask: NodeRequest, earlier: NodeRequest): boolean {
  return ask.body.resourceVersion === earlier.body.resourceVersion && isSameChange(ask, earlier);
}

function changeOf({ type, body }: NodeRequest): string {
  if (type === "asked.condition") return JSON.stringify([body.uid, body.conditions]);
  if (type === "asked.label") return JSON.stringify([body.uid, body.labels, body.annotations]);
  return JSON.stringify([body.uid, body.add, body.remove, body.ready, body.why]);
}

/**
 * Tries an ask on the version of the node that it names; after a failure, or where another has come meanwhile, on the
 * node as it is read live, whatever changes about it meanwhile that the ask does not rest on. Before `Unknown` the
 * lease is read live every time, and before a NoExecute taint is added, a label or an annotation set, the node. A
 * node's version is told with its heartbeats, so a silent one is seldom read: of a thousand verdicts at once each is
 * two requests and not three.
 */
export function attemptNodeWrite(io: Io, { ask, hasFailed, newest }: NodeWriteAttempt, report: Report): void {
  const settle = (live: LiveNode | null, leaseReadAtMs?: number): void => {
    if (isTakenBack(newest())) report(unwritten("ok", "the verdict asked for before is taken back"));
    else write(io, { ask, live, leaseReadAtMs }, decide(ask, live?.node ?? null, io.clock.wallMs()), report);
  };
  const proceed = (live: LiveNode | null): void => {
    if (ask.type !== "asked.condition") settle(live);
    else readLease(io, ask.body, () => settle(live, io.clock.monotonicMs()), report);
  };
  if (isTakenBack(newest())) settle(null);
  else if (hasFailed || needsLiveNode(ask)) readNode(io, ask, ask.type === "asked.condition" ? 2 : 1, proceed, report);
  else proceed(null);
}

/** Whether an ask for conditions wants none any more. */
function isTakenBack(ask: NodeRequest): boolean {
  return ask.type === "asked.condition" && ask.body.conditions.length === 0;
}

/**
 * Whether the node is read before the first try too: what an ask says of it is not enough for a taint that evicts, for
 * labels and annotations, or where the ask does not name every taint and a patch of the whole list would lose the
 * others.
 */
function needsLiveNode(ask: NodeRequest): boolean {
  if (ask.type === "asked.condition") return false;
  if (ask.type === "asked.label") return true;
  const { add, taintsOmitted = 0 } = ask.body;
  return taintsOmitted > 0 || add.some(({ effect }) => effect === TaintEffect.noExecute);
}

function decide(ask: NodeRequest, live: ObservedNode | null, wallMs: number): NodeWriteDecision {
  if (ask.type === "asked.condition") return decideConditions(ask.body, live, wallMs);
  if (ask.type === "asked.taint") return decideTaints(ask.body, live, wallMs);
  return live === null ? { kind: "refused", detail: "the node was not read" } : decideLabels(ask.body, live);
}

function readLease(io: Io, ask: BodyOf<"asked.condition">, proceed: () => void, report: Report): void {
  const ref: ObjectRef = { kind: "Lease", namespace: LEASE_NAMESPACE, name: ask.node };
  const take = (reply: ReadReply): void => {
    if (reply.outcome === "gone") {
      proceed();
      return;
    }
    if (reply.outcome !== "ok") {
      report(unread("lease", reply));
      return;
    }
    const lease = projectLease(reply.object, projection);
    if (lease === null || !refutesSilence(ask.basis, lease.renewedAt)) proceed();
    else report(unwritten("refused", "the lease was renewed later than the verdict knew"));
  };
  io.kube.read(ref, take, { urgency: Urgency.status, stepsBefore: 1 });
}

function readNode(
  io: Io,
  ask: NodeRequest,
  stepsBefore: ReadPlace["stepsBefore"],
  withNode: (live: LiveNode) => void,
  report: Report,
): void {
  const take = (reply: ReadReply): void => {
    if (reply.outcome === "gone") report(unwritten("gone", reply.detail));
    else if (reply.outcome !== "ok") report(unread("node", reply));
    else {
      const node = projectNode(reply.object, projection);
      if (node === null) report(unwritten("failed", "the node read makes no sense"));
      else withNode({ node, object: reply.object });
    }
  };
  io.kube.read(refOf(ask.body.node), take, { urgency: urgencyOf(ask), stepsBefore });
}

function write(
  io: Io,
  {
    ask,
    live,
    leaseReadAtMs,
  }: { readonly ask: NodeRequest; readonly live: LiveNode | null; readonly leaseReadAtMs: number | undefined },
  decision: NodeWriteDecision,
  report: Report,
): void {
  if (decision.kind === "so already") {
    report(unwritten("ok", "nothing is left to change"));
    return;
  }
  if (decision.kind !== "write") {
    report(unwritten(decision.kind, decision.detail));
    return;
  }
  const { change, body } = decision;
  const subresource = ask.type === "asked.condition" ? { subresource: "status" as const } : {};
  // A kubelet may have come back while a verdict waited: the lease that bears it out must be read shortly before.
  const readAt = leaseReadAtMs === undefined ? {} : { readAtMs: leaseReadAtMs };
  const where = { ref: refOf(ask.body.node), urgency: urgencyOf(ask), ...readAt, ...subresource };
  io.kube.write({ ...where, verb: "patch", ...patchOf(ask, body, live) }, (reply) => {
    report({ ...written(reply, change), isOnce: isTurn(ask) });
  });
}

/**
 * A patch of a node that was read live is bound to what it rests on; any other to the version that the ask names, and
 * one of taints to the taints that the ask names as well.
 */
function patchOf(
  ask: NodeRequest,
  body: NodePatch,
  live: LiveNode | null,
): { readonly patch: "strategic" | "json"; readonly body: unknown } {
  if (!isVersioned(body)) return { patch: "strategic", body };
  if (live !== null) {
    const guarded = guardedPatch(body, live.object);
    return guarded === null ? { patch: "strategic", body } : { patch: "json", body: guarded };
  }
  if (ask.type !== "asked.taint") return { patch: "strategic", body };
  return { patch: "json", body: versionedTaintPatch(body, ask.body.taints) };
}

function isVersioned(patch: NodePatch): patch is VersionedPatch {
  return patch.metadata.resourceVersion !== undefined;
}

/** A turn is paid for with a token of its zone: only the zone grants it again. */
function isTurn(ask: NodeRequest): boolean {
  return ask.type === "asked.taint" && ask.body.why === "granted";
}

function urgencyOf(ask: NodeRequest): Urgency {
  if (ask.type === "asked.condition") return Urgency.status;
  const isHealing = ask.type === "asked.taint" && ask.body.add.length === 0;
  return isHealing ? Urgency.healing : Urgency.taint;
}

function refOf(name: string): ObjectRef {
  return { kind: "Node", namespace: "", name };
}
