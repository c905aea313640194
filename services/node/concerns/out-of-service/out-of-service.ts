/** The concern of `outOfService`: the way of one node to the out-of-service taint and back. */
import { TaintEffect, TaintKey } from "../../../../protocols/names.ts";
import type { Io } from "../../../../protocols/ports.ts";
import { type NodeFreeze, nodeFreezeOf } from "../../../domain/freeze.ts";
import type { LimitBlocks } from "../../../platform/node-policies/limit-blocks.ts";
import type { Concern, Finding, PolicyView, TaintFinding } from "../concern.ts";
import { unknownDelay } from "../taint-delay/taint-delay.policy.ts";
import { endedRecords, isTaintOver, type OutOfServiceReport, outOfServiceReport } from "./out-of-service.policy.ts";

/** What the service knows that may block a taint. */
export interface OutOfServiceContext {
  readonly io: Pick<Io, "policies" | "profile">;
  readonly limits: LimitBlocks;
  readonly isHalted: (zone: string) => boolean;
  /** When the service started, on the monotonic clock. */
  readonly beganMs: number;
}

/** A report, and when it changes by time alone, on the monotonic clock. */
interface Review {
  readonly report: OutOfServiceReport;
  readonly nextMs: number;
}

const NO_REVIEW: Review = { report: undefined, nextMs: Number.POSITIVE_INFINITY };

/** The way of one node to the taint and back. */
export class OutOfService implements Concern {
  readonly #context: OutOfServiceContext;

  constructor(context: OutOfServiceContext) {
    this.#context = context;
  }

  review(view: PolicyView): Finding {
    const { report, nextMs } = this.#reviewOf(view);
    const keepsReady = this.#keepsReady(view);
    const annotations = endedRecords(view.node, keepsReady);
    const isUnseen = !view.isSynced || !view.isKnown;
    return {
      ...(report === undefined ? {} : { judged: { outOfService: report } }),
      ...(report?.state === "held" ? { waitsFor: isUnseen ? "sync" : "limits" } : {}),
      ...(annotations === null ? {} : { annotations }),
      taints: taintsOf(view, report, keepsReady),
      nextMs,
    };
  }

  #reviewOf(view: PolicyView): Review {
    const { io, limits, isHalted } = this.#context;
    const { node, policy = null, outages, at } = view;
    const isOwner = io.profile.evictionMode === "taint" && io.profile.upstream !== "beside";
    if (policy === null || policy.outOfService === null || !isOwner) return NO_REVIEW;
    const { freeze, frozen } = nodeFreezeOf(node, io.policies.current(), at.wallMs);
    const halt = isHalted(view.zone) ? "the halt while every zone is disrupted" : null;
    // A heartbeat within the grace counts even while the API shows Unknown: the kubelet may be back.
    const heard = at.nowMs < view.quietFromMs ? "a heartbeat within its grace" : null;
    const unseen = view.isSynced && view.isKnown ? null : "a view that is not synced";
    const blockedBy = freeze?.field ?? halt ?? unseen ?? heard ?? limits.blockedBy(policy, at);
    const report = outOfServiceReport({ node, policy, frozen, outages, blockedBy, wallMs: at.wallMs });
    return { report, nextMs: nextMs(report, view, { freeze, isHeard: heard !== null }) };
  }

  #keepsReady({ node, policy, at }: PolicyView): boolean {
    const { beganMs } = this.#context;
    if (policy === undefined) return unknownDelay(node, { beganMs, nowMs: at.nowMs }) !== null;
    return policy?.outOfService?.removeWhenReady === false;
  }
}

/** When a report changes by time alone, on the monotonic clock; infinity if a message changes it. */
function nextMs(
  report: OutOfServiceReport,
  { node, quietFromMs, at }: PolicyView,
  { freeze, isHeard }: Pick<NodeFreeze, "freeze"> & { readonly isHeard: boolean },
): number {
  const msOf = (instant: number): number => at.nowMs + (instant - at.wallMs);
  const { state, fromAt } = report ?? {};
  if (state === "waits" && fromAt !== undefined) return msOf(fromAt);
  // A proof with a stamp in the future, by a clock that is ahead, counts from that instant.
  const provedAt = node.provedDown?.at ?? Number.NEGATIVE_INFINITY;
  if (state === "unproved" && provedAt > at.wallMs) return msOf(provedAt);
  if (state === "held" && freeze?.untilAt != null) return msOf(freeze.untilAt);
  return state === "held" && isHeard ? quietFromMs : Number.POSITIVE_INFINITY;
}

/**
 * The change of the taints. A removal is part of any other change. The taint is added in a request of its own, after
 * all others.
 */
function taintsOf(
  { node, leaseRenewedAt }: PolicyView,
  report: OutOfServiceReport,
  keepsReady: boolean,
): Partial<TaintFinding> {
  const taint = { key: TaintKey.outOfService, effect: TaintEffect.noExecute };
  if (isTaintOver(node, keepsReady)) return { remove: [taint] };
  if (report?.state !== "due" || node.provedDown === undefined) return {};
  const outOfService = { provedAt: node.provedDown.at, leaseRenewedAt };
  return { alone: { add: [taint], remove: [], why: "conditions", outOfService } };
}
