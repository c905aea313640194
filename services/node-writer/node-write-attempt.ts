/** Attempts one request about a node: live reads, decision, patch. WriteJobs decides when to retry. */
import type { BodyOf } from "../../protocols/messages.ts";
import { LEASE_NAMESPACE, TaintEffect } from "../../protocols/names.ts";
import { isReservedTaintKey } from "../../protocols/node-policy.ts";
import {
  type Io,
  type KubeObject,
  type ObjectRef,
  type ObservedLease,
  type ReadPlace,
  type ReadReply,
  type ShownReply,
  Urgency,
} from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { nodeFreezeOf } from "../domain/freeze.ts";
import { refutesSilence } from "../domain/node-conditions.ts";
import { isOutOfService } from "../domain/out-of-service.ts";
import { type LiveNode, liveNode, projectLease, UNREPORTED } from "../platform/kube/watch/projection.ts";
import {
  guardedPatch,
  type PatchBasis,
  type VersionedPatch,
  versionedTaintPatch,
} from "../platform/requests/guarded-patch.ts";
import { type TryResult, unread, unwritten, written } from "../platform/requests/write-jobs.ts";
import {
  decideConditions,
  decideLabels,
  decideTaintStarts,
  decideTaints,
  type NodePatch,
  type NodeWriteDecision,
} from "./node-writer.policy.ts";
import { outOfServiceRefusal } from "./rules/out-of-service.policy.ts";

type NodeRequestType = "asked.condition" | "asked.taint" | "asked.label";

/** A request about a node; `id` is that of its message. */
export type NodeRequest = {
  [T in NodeRequestType]: {
    readonly type: T;
    readonly id: string;
    readonly body: BodyOf<T>;
    /** How old it was when it was received, in milliseconds of wall clocks. */
    readonly ageMs: number;
  };
}[NodeRequestType];

type Report = (result: TryResult) => void;

interface NodeWriteAttempt {
  readonly request: NodeRequest;
  readonly hasFailed: boolean;
  /** The latest request, which may have arrived while this one waited for its reads. */
  readonly newest: () => NodeRequest;
}

/** A node that was read live, projected and as the API sent it. */
interface LiveNodeRead {
  readonly node: LiveNode;
  readonly object: KubeObject;
}

/** A live lease: its renewal, null without one, and when it was read, on the monotonic clock. */
interface LiveLease {
  readonly renewedAt: number | null;
  readonly readAtMs: number;
}

/** What the field of a request is: a part of the change, or of the state of the node that the change is based on. */
type FieldRole = "change" | "basis";
/** The fields of a request that are parts of the change. */
const changeIn = <T extends NodeRequestType>(roles: Readonly<Record<keyof BodyOf<T>, FieldRole>>): string[] =>
  Object.entries(roles).flatMap(([field, role]) => (role === "change" ? [field] : []));

const NAMED = { node: "change", uid: "change", resourceVersion: "basis" } as const;
/** The fields by which two requests of one type differ as changes. */
const CHANGED_BY: Readonly<Record<NodeRequestType, readonly string[]>> = {
  "asked.condition": changeIn<"asked.condition">({ ...NAMED, basis: "basis", conditions: "change" }),
  "asked.label": changeIn<"asked.label">({ ...NAMED, labels: "change", annotations: "change", taints: "basis" }),
  "asked.taint": changeIn<"asked.taint">({
    ...NAMED,
    taints: "basis",
    taintsOmitted: "basis",
    taintSwap: "basis",
    taintsSeenAt: "basis",
    add: "change",
    remove: "change",
    ready: "change",
    outOfService: "change",
    why: "change",
  }),
};

/** Whether two requests are for the same change of the same node, apart from the versions they are based on. */
export function isSameChange(request: NodeRequest, earlier: NodeRequest): boolean {
  return changeOf(request) === changeOf(earlier);
}

/** Whether a request repeats an earlier one: the same change, based on the same version. */
export function isRepeated(request: NodeRequest, earlier: NodeRequest): boolean {
  return request.body.resourceVersion === earlier.body.resourceVersion && isSameChange(request, earlier);
}

function changeOf({ type, body }: NodeRequest): string {
  const fields: Readonly<Record<string, unknown>> = body;
  return JSON.stringify(CHANGED_BY[type].map((field) => fields[field]));
}

/**
 * Attempts a request on the version of the node that it names; after a failure, on the node read live. The lease is
 * read live before every verdict, and the node before a NoExecute taint, a label or an annotation is set. A heartbeat
 * carries the node's version, so the first attempt of a verdict needs no read of the node; neither does a record of
 * taint starts, which names the taints it is about.
 */
export function attemptNodeWrite(io: Io, { request, hasFailed, newest }: NodeWriteAttempt, report: Report): void {
  const settle = (live: LiveNodeRead | null, lease?: LiveLease): void => {
    if (isWithdrawn(newest())) report(unwritten("ok", "the verdict requested before is withdrawn"));
    else write(io, { request, newest, live, lease }, report);
  };
  const proceed = (live: LiveNodeRead | null): void => {
    if (!needsLease(request)) settle(live);
    else readLease(io, request, (lease) => settle(live, lease), report);
  };
  if (isStaleGrant(request, io.profile)) report(unwritten("refused", "the grant was old when it was received"));
  else if (isWithdrawn(newest())) settle(null);
  else if (hasFailed || needsLiveNode(request)) readNode(io, request, needsLease(request) ? 2 : 1, proceed, report);
  else proceed(null);
}

/** Whether the request withdraws an earlier verdict. */
function isWithdrawn(request: NodeRequest): boolean {
  return request.type === "asked.condition" && request.body.conditions.length === 0;
}

/**
 * Whether the first attempt reads the node too: for a taint that evicts, follows a condition of a policy or declares
 * the node out of service, for labels and annotations apart from a record of taint starts, and if the request omits
 * taints that a patch of the whole list would delete.
 */
function needsLiveNode(request: NodeRequest): boolean {
  if (request.type === "asked.condition") return false;
  if (request.type === "asked.label") return request.body.taints === undefined;
  const { add, remove, taintsOmitted = 0 } = request.body;
  const isForPolicy = [...add, ...remove].some((id) => !isReservedTaintKey(id.key) || isOutOfService(id));
  return taintsOmitted > 0 || isForPolicy || add.some(({ effect }) => effect === TaintEffect.noExecute);
}

/** Whether the lease is read before the write: for a verdict, and for the taint that needs a node to be down. */
function needsLease({ type, body }: NodeRequest): boolean {
  return type === "asked.condition" || (type === "asked.taint" && body.outOfService !== undefined);
}

function decide(io: Io, request: NodeRequest, read: LiveNodeRead | null, lease?: LiveLease): NodeWriteDecision {
  const { clock, policies, profile } = io;
  const live = read?.node() ?? null;
  const wallMs = clock.wallMs();
  if (request.type === "asked.taint" && request.body.outOfService !== undefined) {
    const situation = { live, leaseRenewedAt: lease?.renewedAt, policies: policies.current(), wallMs, profile };
    const detail = outOfServiceRefusal(request.body.outOfService, situation);
    if (detail !== null) return { kind: "refused", detail };
  }
  if (isGrant(request) && live !== null) {
    const { freeze } = nodeFreezeOf(live, policies.current(), wallMs);
    if (freeze !== null) return { kind: "refused", detail: `node ${live.node} is frozen: ${freeze.field}` };
  }
  if (request.type === "asked.condition") return decideConditions(request.body, live, wallMs);
  if (request.type === "asked.taint") return decideTaints(request.body, live, wallMs, policies.current());
  if (read !== null) return decideLabels(request.body, read.node(), read.object.metadata);
  return decideTaintStarts(request.body, request.body.taints ?? []);
}

/** Proceeds with the lease of a node as read live, or for a verdict as a proven watch shows it. */
function readLease(io: Io, request: NodeRequest, proceed: (lease: LiveLease) => void, report: Report): void {
  const { node } = request.body;
  const useLease = (lease: ObservedLease | null, readAtMs: number): void => {
    const renewedAt = lease?.renewedAt ?? null;
    const isRefuted =
      request.type === "asked.condition" && lease !== null && refutesSilence(request.body.basis, renewedAt);
    if (isRefuted) report(unwritten("refused", "the lease was renewed after the verdict"));
    else proceed({ renewedAt, readAtMs });
  };
  const onReply = (reply: ReadReply | ShownReply<ObservedLease>): void => {
    const readAtMs = io.clock.monotonicMs();
    if (reply.outcome === "shown") useLease(reply.object, reply.view.readAtMs);
    else if (reply.outcome === "gone") useLease(null, readAtMs);
    else if (reply.outcome === "ok") useLease(projectLease(reply.object, UNREPORTED), readAtMs);
    else report(unread("lease", reply));
  };
  const ref: ObjectRef = { kind: "Lease", namespace: LEASE_NAMESPACE, name: node };
  const place = { urgency: urgencyOf(request), stepsBefore: 1 } as const;
  // The taint that frees the volumes of a node is rare.
  if (request.type === "asked.condition") io.kube.readShown("leases", ref, onReply, { place });
  else io.kube.read(ref, onReply, place);
}

function readNode(
  io: Io,
  request: NodeRequest,
  stepsBefore: ReadPlace["stepsBefore"],
  withNode: (live: LiveNodeRead) => void,
  report: Report,
): void {
  const onReply = (reply: ReadReply): void => {
    if (reply.outcome === "gone") report(unwritten("gone", reply.detail));
    else if (reply.outcome !== "ok") report(unread("node", reply));
    else {
      const node = liveNode(reply.object, io.policies);
      if (node === null) report(unwritten("failed", "the node as read is not a valid Node"));
      else withNode({ node, object: reply.object });
    }
  };
  io.kube.read(refOf(request.body.node), onReply, { urgency: urgencyOf(request), stepsBefore });
}

/** What a patch is decided on. */
interface PatchGrounds extends Pick<NodeWriteAttempt, "request" | "newest"> {
  readonly live: LiveNodeRead | null;
  readonly lease: LiveLease | undefined;
}

/**
 * Writes what is decided now. The patch may wait behind another one of its node for as long as that is unanswered, 15 s
 * at most, so it is decided and stamped again when it is sent: a countdown begins with the stamp.
 */
function write(io: Io, { request, newest, live, lease }: PatchGrounds, report: Report): void {
  const decision = decide(io, request, live, lease);
  if (decision.kind !== "write") {
    report(unwritten(decision.kind, decision.detail));
    return;
  }
  const { change, shadow } = decision;
  const subresource = request.type === "asked.condition" ? { subresource: "status" as const } : {};
  // A kubelet may return while a verdict waits, so the lease must be read shortly before the write.
  const readAt = lease === undefined ? {} : { readAtMs: lease.readAtMs };
  const where = { ref: refOf(request.body.node), urgency: urgencyOf(request), ...readAt, ...subresource };
  const bodyAtSend = (): unknown => {
    if (isWithdrawn(newest())) return null;
    const latest = decide(io, request, live, lease);
    return latest.kind === "write" ? patchOf(request, latest, live).body : null;
  };
  const { patch } = patchOf(request, decision, live);
  io.kube.write({ ...where, verb: "patch", patch, bodyAtSend }, (reply) => {
    const result = { ...written(reply, change), isOnce: isGrant(request) };
    report(reply.outcome === "shadowed" ? { ...result, nodeShadow: shadow } : result);
  });
}

/**
 * A patch of a live node tests the fields it depends on. Any other is bound to the version that the request names, and
 * a patch of taints also to the taints that it names.
 */
function patchOf(
  request: NodeRequest,
  { body, basis }: { readonly body: NodePatch; readonly basis?: PatchBasis },
  live: LiveNodeRead | null,
): { readonly patch: "strategic" | "json"; readonly body: unknown } {
  if (!isVersioned(body)) return { patch: "strategic", body };
  if (live !== null) {
    const guarded = guardedPatch(body, live.object, basis);
    return guarded === null ? { patch: "strategic", body } : { patch: "json", body: guarded };
  }
  if (request.type === "asked.condition") return { patch: "strategic", body };
  return { patch: "json", body: versionedTaintPatch(body, request.body.taints ?? []) };
}

function isVersioned(patch: NodePatch): patch is VersionedPatch {
  return patch.metadata.resourceVersion !== undefined;
}

/** A grant costs a token of its zone, so only the zone may repeat it. */
function isGrant(request: NodeRequest): boolean {
  return request.type === "asked.taint" && request.body.why === "granted";
}

/**
 * Whether a grant was received later than a pulse may be. This process may have been suspended. Meanwhile the zone may
 * have halted, and the grants of minutes would all be carried out at once. The zone grants again what is still due.
 */
function isStaleGrant(request: NodeRequest, { pulseTimeoutMs }: Pick<Profile, "pulseTimeoutMs">): boolean {
  return isGrant(request) && request.ageMs > pulseTimeoutMs;
}

/**
 * The removal of a NoExecute taint keeps pods alive, so it is first. The removal of NoSchedule taints alone comes after
 * verdicts, because thousands of new nodes may carry one.
 */
function urgencyOf(request: NodeRequest): Urgency {
  if (request.type === "asked.condition") return Urgency.status;
  if (request.type === "asked.label" || request.body.add.length > 0) return Urgency.taint;
  return request.body.remove.some(({ effect }) => effect === TaintEffect.noExecute) ? Urgency.healing : Urgency.taint;
}

function refOf(name: string): ObjectRef {
  return { kind: "Node", namespace: "", name };
}
