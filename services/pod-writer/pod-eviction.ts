/**
 * Attempts the eviction of one pod: decides on its live node, then evicts it by the method of the node's policy. Where
 * that is to delete it, as upstream does, marks the pod with the reason, decides again on the marked pod, and deletes
 * exactly that version.
 */
import type { EvictionPermit } from "../../protocols/done.ts";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import type { EvictionSettings, PolicySet } from "../../protocols/policy-set.ts";
import { Urgency } from "../../protocols/ports.ts";
import { apiTime } from "../domain/api-time.ts";
import { nodeFreezeOf } from "../domain/freeze.ts";
import { appliedPolicyOf, ratedPolicyOf } from "../domain/node-policy.ts";
import { nodeOutagesOf } from "../domain/paused-time/outages.ts";
import type { LiveRead } from "../platform/requests/single-flight-reads.ts";
import { type TryResult, unwritten, written } from "../platform/requests/write-jobs.ts";
import { afterEviction, dueSince, UPSTREAM_EVICTIONS } from "./eviction-method.policy.ts";
import { renewalProblem, restsOnSilence } from "./lease.policy.ts";
import type { LeaseRead } from "./lease-renewals.ts";
import { endUnneeded, type LiveNodeRead, readBoth, readNode } from "./pod-reads.ts";
import { type PodWriteAttempt, type PodWriterContext, patchStatus, refOf, writtenOr } from "./pod-request.ts";
import {
  decideEviction,
  deletePreconditions,
  disruptionTargetPatch,
  type KnownPod,
  livePod,
  marksEvictions,
  mayDeleteUnmarked,
  nodeLostPatch,
  type PodWriteDecision,
} from "./pod-writer.policy.ts";

/** An attempt of `asked.eviction`. */
export type EvictionAttempt = PodWriteAttempt & { readonly request: { readonly type: "asked.eviction" } };

/** A pod to evict, with the reads, the taint and the policies that decided. */
interface PodEviction {
  readonly known: KnownPod;
  readonly node: LiveNodeRead;
  /** When the oldest read was answered, on the monotonic clock. */
  readonly readAtMs: number;
  /** Null in direct mode. */
  readonly taint: Taint | null;
  readonly policies: PolicySet | null;
}

/**
 * The first attempt does not read the pod if it was observed: its mark names the observed version, so it fails if the
 * pod has changed, and its reply is a live read. Later attempts read the pod: it may be marked already. The first reads
 * it too if the observed version need not go, because that version may be out of date.
 */
export function attemptEviction(context: PodWriterContext, attempt: EvictionAttempt): void {
  const { failures, lates } = attempt.history;
  const observed = failures + lates === 0 ? context.pods.find(attempt.request.body) : null;
  if (observed === null) evictAsRead(context, attempt);
  else {
    readNode(context, attempt, (node) => {
      const known = { ...observed, object: null };
      const decision = decisionOn(context, attempt, node, known);
      // A server delays an eviction of an outdated version for seconds before it answers with a conflict.
      const isRead = decision.kind === "moot" || settingsOf(context, node).method !== "Delete";
      if (isRead) evictAsRead(context, attempt);
      else evict(context, attempt, { known, node, readAtMs: node.readAtMs, taint: decision.taint });
    });
  }
}

function evictAsRead(context: PodWriterContext, attempt: EvictionAttempt): void {
  readBoth(context, attempt, ({ live, readAtMs }, node) => {
    const decision = decisionOn(context, attempt, node, live);
    if (decision.kind === "moot") endUnneeded(attempt, node, decision, (again) => evictAsRead(context, again));
    else if (live !== null) {
      const oldest = Math.min(readAtMs, node.readAtMs);
      evict(context, attempt, { known: live, node, readAtMs: oldest, taint: decision.taint });
    }
  });
}

function decisionOn(
  { io, outages: observed, latestMs }: PodWriterContext,
  { request }: EvictionAttempt,
  read: LiveNodeRead,
  known: KnownPod | null,
): PodWriteDecision {
  const comparisonOperators = io.profile.tolerationComparisonOperators;
  const instants = { wallMs: io.clock.wallMs(), latestMs: latestMs(), behindMs: request.behindMs };
  const node = read.node();
  const policies = io.policies.current();
  const freeze = nodeFreezeOf(node, policies, instants.wallMs);
  const { blindness, outages: found } = observed.about(request.body.node);
  const outages = nodeOutagesOf(node, policies, found, io.profile);
  return decideEviction(request.body, node, known, { comparisonOperators, ...instants, ...freeze, outages, blindness });
}

function settingsOf({ io }: PodWriterContext, { node }: LiveNodeRead): EvictionSettings {
  return appliedPolicyOf(node(), io.policies.current())?.evictions ?? UPSTREAM_EVICTIONS;
}

function instantsOf(
  { io, outages: observed }: PodWriterContext,
  { request, history }: EvictionAttempt,
  { known, node, taint }: PodEviction,
) {
  const comparisonOperators = io.profile.tolerationComparisonOperators;
  const nowAt = io.clock.wallMs();
  const { frozen } = nodeFreezeOf(node.node(), io.policies.current(), nowAt);
  const nowMs = io.clock.monotonicMs();
  const refusedAt = nowAt - (nowMs - (history.failingSinceMs ?? nowMs));
  const deadlineAt = dueSince(request.body, node.node(), known.pod, { taint, refusedAt, comparisonOperators });
  const found = observed.about(request.body.node).outages;
  return { deadlineAt, nowAt, frozen, outages: nodeOutagesOf(node.node(), io.policies.current(), found, io.profile) };
}

/**
 * Evicts a pod, unless its node may be alive. An eviction that turns out to rest on the silence of its node is
 * attempted again with the node's lease.
 */
function evict(context: PodWriterContext, attempt: EvictionAttempt, decided: Omit<PodEviction, "policies">): void {
  const { lease, ...read } = decided.node;
  const node = read.node();
  if (!restsOnSilence(node, decided.taint)) evictAtRate(context, attempt, decided);
  else if (lease === null) attemptEviction(context, { ...attempt, isLeaseNeeded: true });
  else {
    const refused = refusalByLease(context, node, lease);
    const readAtMs = Math.min(decided.readAtMs, lease.readAtMs);
    if (refused === null) evictAtRate(context, attempt, { ...decided, readAtMs });
    else attempt.report(refused);
  }
}

/** How an eviction ends because of the live lease of its silent node; null if it goes on. */
function refusalByLease(
  { io, leases }: PodWriterContext,
  node: ObservedNode,
  lease: LiveRead<LeaseRead>,
): TryResult | null {
  if (lease.found.kind === "unread") return lease.found.result;
  const own = appliedPolicyOf(node, io.policies.current());
  const graceMs = own?.nodeMonitorGraceMs ?? io.profile.nodeMonitorGraceMs;
  const known = leases.apply(node, lease, graceMs);
  const problem = known && renewalProblem(node.node, known, { nowMs: io.clock.monotonicMs(), graceMs });
  if (known === null || problem === null) return null;
  return { ...unwritten("refused", problem), leaseRenewedAt: known.leaseRenewedAt ?? undefined };
}

/** Evicts a pod by the method of its node's policy, once the rates of that policy permit it. */
function evictAtRate(
  context: PodWriterContext,
  attempt: EvictionAttempt,
  decided: Omit<PodEviction, "policies">,
): void {
  const policies = context.io.policies.current();
  const eviction = { ...decided, policies };
  const rated = ratedPolicyOf(eviction.node.node(), policies);
  if (rated === null) {
    evictNow(context, attempt, eviction);
    return;
  }
  const { body, receivedMs } = attempt.request;
  const { uid, node } = body;
  const { permits } = context;
  const permitted = attempt.permit === undefined ? withPermit(attempt, permits.use(rated.name, body)) : attempt;
  if (permitted.permit === undefined) {
    permits.add({
      policy: rated.name,
      uid,
      node,
      receivedMs,
      observedVersion: () => context.pods.find(body)?.resourceVersion ?? null,
      resume: (permit) => attemptEviction(context, withPermit(attempt, permit)),
    });
  } else if (permits.isValid(permitted.permit, rated.name)) evictNow(context, permitted, eviction);
  else permitted.report({ ...unwritten("failed", LATE_PERMIT), isLate: true });
}

/** The attempt that uses a permit; null for none. Its outcome names the permit, so that only that one ends. */
function withPermit(attempt: EvictionAttempt, permit: EvictionPermit | null): EvictionAttempt {
  if (permit === null) return attempt;
  return { ...attempt, permit, report: (result) => attempt.report({ ...result, permit }) };
}

/** A permit that is used late could exceed the rate together with later ones. */
const LATE_PERMIT = "its permit was too old when the pod could be evicted";

function evictNow(context: PodWriterContext, attempt: EvictionAttempt, eviction: PodEviction): void {
  const { request, history, report } = attempt;
  const { known, node, readAtMs, taint } = eviction;
  const { kube, clock } = context.io;
  const why = taint === null ? `node ${request.body.node} is lost` : `${taint.key}:${taint.effect}`;
  const settings = settingsOf(context, node);
  if (settings.method === "Delete") {
    markAndDelete(context, attempt, eviction, `deleted: ${why}`);
    return;
  }
  const where = { ref: refOf(request), urgency: Urgency.eviction, readAtMs };
  kube.write({ ...where, verb: "evict", ...deletePreconditions(known, history) }, (reply) => {
    const after = afterEviction(settingsOf(context, node), reply, instantsOf(context, attempt, eviction));
    const change = after.kind === "report" ? `evicted: ${why}` : "";
    const result = writtenOr(reply, change, { deletedAt: clock.wallMs() });
    const isDeletion = after.kind === "delete" && context.io.policies.current() === eviction.policies;
    if (after.kind === "report") report(result);
    else if (isDeletion) {
      const refusal = reply.outcome === "ok" ? "" : reply.detail;
      markAndDelete(context, attempt, eviction, `deleted: ${why}, because its eviction is refused: ${refusal}`);
    } else {
      // The policies have changed meanwhile and may require another method or limit the rate, so it is decided again at
      // once.
      const withinMs = after.kind === "delete" ? 0 : after.withinMs;
      report({ ...result, ...(withinMs === null ? {} : { retryWithinMs: withinMs }) });
    }
  });
}

/** Deletes a pod; first marks it with the reason, where the upstream of the API server's version does. */
function markAndDelete(
  context: PodWriterContext,
  attempt: EvictionAttempt,
  eviction: PodEviction,
  change: string,
): void {
  if (eviction.taint === null) mark(context, attempt, eviction, change);
  else {
    context.io.kube.minorVersion((minor) => {
      if (marksEvictions(minor)) mark(context, attempt, eviction, change);
      else remove(context, attempt, eviction, change);
    });
  }
}

/**
 * Marks the pod with the reason of its eviction, then deletes it. The reply to the mark shows the newest version of the
 * pod: the decision is repeated for this version, and this version is deleted. If the policies have changed meanwhile,
 * they may require another method or limit the rate, so they are applied to the pod.
 */
function mark(context: PodWriterContext, attempt: EvictionAttempt, eviction: PodEviction, change: string): void {
  const { io } = context;
  const { request, history, report } = attempt;
  const { known, node, readAtMs, taint } = eviction;
  const bodyAtSend = () =>
    taint === null ? nodeLostPatch(known) : disruptionTargetPatch(known, taint, apiTime(io.clock.wallMs()));
  if (bodyAtSend() === null) {
    if (taint !== null) context.marks.note(request.body);
    remove(context, attempt, eviction, change);
    return;
  }
  patchStatus(io.kube, request, { bodyAtSend, readAtMs, stepsBefore: 1 }, (reply) => {
    const arePoliciesSame = io.policies.current() === eviction.policies;
    if (reply.outcome === "ok") {
      if (taint !== null) context.marks.note(request.body);
      const marked = livePod(reply.object);
      const decision = decisionOn(context, attempt, node, marked);
      if (decision.kind === "moot") report(unwritten(decision.outcome, decision.detail));
      else if (marked !== null) {
        const shown = { known: marked, node, readAtMs: node.readAtMs, taint: decision.taint };
        if (arePoliciesSame) remove(context, attempt, shown, change);
        else evict(context, attempt, shown);
      }
    } else if (reply.outcome === "shadowed") remove(context, attempt, eviction, change);
    else if (arePoliciesSame && mayDeleteUnmarked(reply.outcome, taint === null, history, io.clock.monotonicMs())) {
      if (reply.outcome === "denied") context.countUnmarked();
      remove(context, attempt, eviction, `${change}, unmarked (${reply.detail})`);
    } else report(unmarked(written(reply, change)));
  });
}

/** The deletion was not sent, so it failed, even if the reply to the mark was lost. */
function unmarked(result: TryResult): TryResult {
  if (result.outcome !== "unknown") return result;
  return { ...result, outcome: "failed", detail: `the reply to marking the pod was lost: ${result.detail}` };
}

/** Deletes exactly this pod, with its own grace period (R8.30). */
function remove(
  { io: { kube, clock }, marks }: PodWriterContext,
  { request, history, report }: EvictionAttempt,
  { known, readAtMs }: Pick<PodEviction, "known" | "readAtMs">,
  change: string,
): void {
  const where = { ref: refOf(request), urgency: Urgency.eviction, readAtMs };
  kube.write({ ...where, verb: "delete", ...deletePreconditions(known, history) }, (reply) => {
    if (reply.outcome === "ok" || reply.outcome === "gone") marks.settle(request.body.uid);
    report(writtenOr(reply, change, { deletedAt: clock.wallMs() }));
  });
}
