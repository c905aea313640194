/** What the actor of one node keeps about the out-of-service taint between two reviews. */
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { NodePolicy } from "../../../../protocols/policy-set.ts";
import type { Io } from "../../../../protocols/ports.ts";
import { nodeFreezeOf } from "../../../domain/freeze.ts";
import type { OutageTime } from "../../../domain/paused-time/outages.ts";
import type { LimitHolds } from "../../../platform/node-policies/limit-holds.ts";
import {
  endedRecords,
  isTaintOver,
  type OutOfServiceChange,
  type OutOfServiceReport,
  outOfServiceReport,
} from "./out-of-service.policy.ts";
import { unknownHold } from "../taint-delay/taint-delay.policy.ts";

/** What the service knows that may hold a taint back. */
export interface OutOfServiceContext {
  readonly io: Io;
  readonly limits: LimitHolds;
  readonly isHalted: (zone: string) => boolean;
  /** When the service started, on the monotonic clock. */
  readonly beganMs: number;
}

/** What the actor knows of its node; `policy` is undefined while it is not known. */
export interface OutOfServiceView {
  readonly node: ObservedNode;
  readonly policy: NodePolicy | null | undefined;
  readonly zone: string;
  /** Whether the actor sees its shard and knows the policies. */
  readonly canJudge: boolean;
  /** When its silence has lasted for its grace, on the monotonic clock; infinity while the API does not show it. */
  readonly quietFromMs: number;
  readonly leaseRenewedAt: number | null;
  readonly outages: OutageTime;
}

/** The way of one node to the taint and back. */
export class OutOfService {
  readonly #context: OutOfServiceContext;
  #report: OutOfServiceReport;
  #nextMs = Number.POSITIVE_INFINITY;

  constructor(context: OutOfServiceContext) {
    this.#context = context;
  }

  /** How far the node is, as of the last review. */
  get report(): OutOfServiceReport {
    return this.#report;
  }

  /** When to review the node again, on the monotonic clock; infinity where a message tells. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** Decides how far the node is. */
  review(view: OutOfServiceView): void {
    const { io, limits, isHalted } = this.#context;
    const { node, policy = null, zone, canJudge, quietFromMs, outages } = view;
    const isOwner = io.profile.evictionMode === "taint" && io.profile.upstream !== "beside";
    this.#report = undefined;
    this.#nextMs = Number.POSITIVE_INFINITY;
    if (policy === null || policy.outOfService === null || !isOwner) return;
    const at = { nowMs: io.clock.monotonicMs(), wallMs: io.clock.wallMs() };
    const { freeze, frozen } = nodeFreezeOf(node, io.policies.current(), at.wallMs);
    const halt = isHalted(zone) ? "the halt while every zone is disrupted" : null;
    // A heartbeat within the grace counts even while the API shows Unknown: the kubelet may be back.
    const heard = at.nowMs < quietFromMs ? "a heartbeat within its grace" : null;
    const unseen = canJudge ? null : "a view that is not synced";
    const heldBy = freeze?.field ?? halt ?? unseen ?? heard ?? limits.holdOn(policy, at);
    this.#report = outOfServiceReport({ node, policy, frozen, outages, heldBy, wallMs: at.wallMs });
    const { state, fromAt } = this.#report ?? {};
    const msOf = (instant: number): number => at.nowMs + (instant - at.wallMs);
    if (state === "waits" && fromAt !== undefined) this.#nextMs = msOf(fromAt);
    else if (state === "unproved" && node.provedDown !== undefined && node.provedDown.at > at.wallMs) {
      // A proof from a clock that is ahead counts once its instant has come.
      this.#nextMs = msOf(node.provedDown.at);
    } else if (state === "held" && freeze?.untilAt != null) this.#nextMs = msOf(freeze.untilAt);
    else if (state === "held" && heard !== null) this.#nextMs = quietFromMs;
  }

  /** The change of the node's taints, as of the last review. */
  change(view: OutOfServiceView): OutOfServiceChange {
    const { node, leaseRenewedAt } = view;
    const { provedDown } = node;
    const isDue = this.#report?.state === "due" && provedDown !== undefined;
    const add = isDue ? { provedAt: provedDown.at, leaseRenewedAt } : null;
    return { add, isOver: isTaintOver(node, this.#keepsReady(view)) };
  }

  /** The annotations with those taken off that a Ready node has no use for; null for no change. */
  annotations(
    view: OutOfServiceView,
    others: Readonly<Record<string, string | null>> | null,
  ): Readonly<Record<string, string | null>> | null {
    const ended = endedRecords(view.node, this.#keepsReady(view));
    return ended === null ? others : { ...others, ...ended };
  }

  #keepsReady({ node, policy }: OutOfServiceView): boolean {
    const { io, beganMs } = this.#context;
    if (policy === undefined) return unknownHold(node, { beganMs, nowMs: io.clock.monotonicMs() }) !== null;
    return policy?.outOfService?.removeWhenReady === false;
  }
}
