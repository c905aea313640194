/**
 * A request about a pod as the pod-writer received it, one attempt to carry it out, what all attempts share, and their
 * writes to the pod's status.
 */
import type { EvictionPermit } from "../../protocols/done.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { PodShadow } from "../../protocols/objects.ts";
import { type Io, type Kube, type ObjectRef, Urgency, type WriteReply } from "../../protocols/ports.ts";
import type { LiveNode } from "../platform/kube/watch/projection.ts";
import type { PatchOperation } from "../platform/requests/guarded-patch.ts";
import type { SingleFlightReads } from "../platform/requests/single-flight-reads.ts";
import { type TryHistory, type TryResult, written } from "../platform/requests/write-jobs.ts";
import type { EvictionMarks } from "./eviction-marks.ts";
import type { LeaseRenewals } from "./lease-renewals.ts";
import type { ObservedOutages } from "./observed-outages.ts";
import type { ObservedPods } from "./observed-pods.ts";
import type { StatusPatch } from "./pod-writer.policy.ts";
import type { PermitGate } from "./rates/permit-gate.ts";

/** The messages that request a write to a pod. */
export type PodRequestType = "asked.eviction" | "asked.unready";

/** A request about a pod as received. */
export type PodRequest = {
  [T in PodRequestType]: {
    readonly type: T;
    readonly id: string;
    readonly body: BodyOf<T>;
    /** When it was received, on the monotonic clock. */
    readonly receivedMs: number;
    /** How far our wall clock was behind the requester's, in milliseconds. */
    readonly behindMs: number;
  };
}[PodRequestType];

/** What a live read of a node found: its state, or how an attempt ends without it. */
export type NodeRead =
  | { readonly kind: "read"; readonly node: LiveNode }
  | { readonly kind: "unread"; readonly result: TryResult };

/** What the attempts of one writer share. */
export interface PodWriterContext {
  readonly io: Io;
  /** Requests for the pods of one node come together, so one live read of the node serves them all. */
  readonly nodes: SingleFlightReads<NodeRead>;
  /** What is known of the leases of silent nodes. */
  readonly leases: LeaseRenewals;
  readonly pods: Pick<ObservedPods, "find">;
  /** Where evictions wait for the rates of their policies. */
  readonly permits: PermitGate;
  /** When nodes could not be heard, as the observer has found. */
  readonly outages: Pick<ObservedOutages, "about">;
  /** Pods that are marked and not deleted yet. */
  readonly marks: Pick<EvictionMarks, "note" | "settle">;
  /** Counts an eviction whose mark the API server denied. */
  readonly countUnmarked: () => void;
  /** The latest possible present instant, epoch milliseconds. */
  readonly latestMs: () => number;
}

/** One attempt of a request. */
export interface PodWriteAttempt {
  readonly request: PodRequest;
  readonly history: TryHistory;
  readonly report: (result: TryResult) => void;
  /** Whether the read of the node must be sent after the request was received. */
  readonly isReadAgain?: boolean;
  /** Whether the lease of the node is read too, although the request does not show the need. */
  readonly isLeaseNeeded?: boolean;
  /** What lets the pod be evicted in this attempt, if its policy limits the rate; absent before it is used. */
  readonly permit?: EvictionPermit;
}

/** Whether a request repeats an earlier one of its type: requesters retry while many requests wait. */
export function isRepeated(request: PodRequest, earlier: PodRequest): boolean {
  return request.body.uid === earlier.body.uid && versionSeen(request) === versionSeen(earlier);
}

/**
 * Whether a request repeats an earlier eviction under a rate: the pod keeps waiting, so the owner of the rates needs to
 * know when it may be attempted again.
 */
export function isRepeatedUnderRate(request: PodRequest, earlier: PodRequest): boolean {
  return request.type === "asked.eviction" && request.body.policy !== undefined && isRepeated(request, earlier);
}

function versionSeen(request: PodRequest): string | undefined {
  return request.type === "asked.unready" ? request.body.resourceVersion : undefined;
}

/** How urgent the requests to the API are that carry it out. */
export function urgencyOf({ type }: PodRequest): Urgency {
  return type === "asked.unready" ? Urgency.readiness : Urgency.eviction;
}

/** The pod that it is about. */
export function refOf({ body: { namespace, name, node } }: PodRequest): ObjectRef {
  return { kind: "Pod", namespace, name, node };
}

/** A patch of a pod's status; `readAtMs` is when the older of its reads was answered. */
interface StatusWrite {
  readonly patch?: "strategic" | "json";
  /** Makes the patch when it is sent: a condition contains the instant of the write. */
  readonly bodyAtSend: () => StatusPatch | readonly PatchOperation[] | null;
  readonly readAtMs: number;
  /** Set if a deletion follows. */
  readonly stepsBefore?: 1;
}

/** Patches the status of the pod of a request. */
export function patchStatus(
  kube: Pick<Kube, "write">,
  request: PodRequest,
  { patch = "strategic", bodyAtSend, ...place }: StatusWrite,
  done: (reply: WriteReply) => void,
): void {
  const where = { ref: refOf(request), urgency: urgencyOf(request), subresource: "status", ...place } as const;
  kube.write({ ...where, verb: "patch", patch, bodyAtSend }, done);
}

/** The result of a write; a shadowed one carries what it would have changed. */
export function writtenOr(reply: WriteReply, change: string, podShadow: PodShadow): TryResult {
  const result = written(reply, change);
  return reply.outcome === "shadowed" ? { ...result, podShadow } : result;
}
