/**
 * Decides again, on the live node and its live lease, whether it may be declared out of service. An attacker with a
 * stolen seed could request it, and upstream then deletes pods although no kubelet has confirmed that they are gone. A
 * removal is decided again too, because a request may be older than the present silence.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import { Annotation, ConditionType } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { apiTime } from "../../domain/api-time.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { readyConditionOf, refutesSilence } from "../../domain/node-conditions.ts";
import { appliedPolicyOf } from "../../domain/node-policy.ts";
import { isOutOfService, outOfServiceStage, ownOutOfServiceTaint } from "../../domain/out-of-service.ts";
import { nodeOutagesOf } from "../../domain/paused-time/outages.ts";
import { taintName } from "../../domain/toleration.ts";
import { NO_BASIS, type TaintRequest, type TaintRule } from "./taint-rule.ts";

/** The out-of-service taint. */
export const OUT_OF_SERVICE_TAINT: TaintRule = {
  owns: isOutOfService,
  founded: (change, id, { live }) => {
    const isKept = change === "remove" && (live === null || keepsOutOfService(live));
    return isKept ? `${taintName(id)} is another client's, or its proof stands` : null;
  },
  // Vigil removes only a taint with this stamp.
  annotations: ({ added, removed }, { wallMs }) => {
    if (added.some(isOutOfService)) return { [Annotation.outOfService]: apiTime(wallMs) };
    return removed.some(isOutOfService) ? { [Annotation.outOfService]: null } : {};
  },
  /**
   * A user may withdraw or replace a proof at any time, and a node may return and stop sending heartbeats again. So the
   * API server tests once more that the proof and the silence are those of the decision.
   */
  basis: ({ added }) =>
    added.some(isOutOfService)
      ? { conditions: [ConditionType.ready], annotations: [Annotation.provedDown, Annotation.outOfService] }
      : NO_BASIS,
};

/** Why no service of Vigil requests to declare a node out of service like this; null if one may. */
export function allowsOutOfService({ add, remove, why, outOfService }: TaintRequest): string | null {
  const isProved = outOfService !== undefined && add.length + remove.length === 1 && why === "conditions";
  return isProved ? null : "Vigil declares a node out of service by a proof, and changes no other taint with it";
}

/** What the live reads and the policies show. */
export interface LiveSituation {
  readonly live: ObservedNode | null;
  /** When the live lease was renewed; null without a lease, undefined while it was not read. */
  readonly leaseRenewedAt: number | null | undefined;
  readonly policies: PolicySet | null;
  readonly wallMs: number;
  readonly profile: Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs">;
}

type OutOfServiceRequest = NonNullable<BodyOf<"asked.taint">["outOfService"]>;

/** Why a node is not declared out of service; null if it may be. */
export function outOfServiceRefusal(request: OutOfServiceRequest, situation: LiveSituation): string | null {
  const { live, leaseRenewedAt, policies, wallMs } = situation;
  if (live === null || leaseRenewedAt === undefined) return "the node and its lease were not read";
  const { freeze, frozen } = nodeFreezeOf(live, policies, wallMs);
  if (freeze !== null) return `node ${live.node} is frozen: ${freeze.field}`;
  const policy = appliedPolicyOf(live, policies);
  if (policy === null || policy.outOfService === null) return `no policy of node ${live.node} has outOfService`;
  const outages = nodeOutagesOf(live, policies, [], situation.profile);
  const graceMs = policy.nodeMonitorGraceMs ?? situation.profile.nodeMonitorGraceMs;
  const alive = leaseProblem(request, { leaseRenewedAt, graceMs, wallMs });
  if (alive !== null) return alive;
  const stage = outOfServiceStage(live, policy.outOfService, frozen, wallMs, outages);
  if (stage === null) return `node ${live.node} is not silent`;
  if (stage.state === "on") return null;
  if (stage.state !== "due") return `node ${live.node} may not be declared out of service: ${stage.state}`;
  return live.provedDown?.at === request.provedAt ? null : "the proof was replaced";
}

/** Whether the out-of-service taint of a live node stays: it is another client's, or its proof is still there. */
function keepsOutOfService(live: ObservedNode): boolean {
  if (!live.taints.some(isOutOfService)) return false;
  return ownOutOfServiceTaint(live) === null || (live.provedDown !== undefined && !isReady(live));
}

/**
 * Whether a record of a live node stays: a proof that came after the request, or the stamp by which Vigil knows its own
 * taint.
 */
export function keepsRecord(name: string, live: ObservedNode): boolean {
  if (name === Annotation.provedDown) return !isReady(live);
  return name === Annotation.outOfService && (!isReady(live) || ownOutOfServiceTaint(live) !== null);
}

function isReady(node: ObservedNode): boolean {
  return readyConditionOf(node)?.status === "True";
}

interface LiveLease {
  readonly leaseRenewedAt: number | null;
  readonly graceMs: number;
  readonly wallMs: number;
}

function leaseProblem(request: OutOfServiceRequest, { leaseRenewedAt, graceMs, wallMs }: LiveLease): string | null {
  if (leaseRenewedAt === null) return null;
  const at = apiTime(leaseRenewedAt);
  if (refutesSilence(request, leaseRenewedAt)) return `its kubelet renewed its lease meanwhile, at ${at}`;
  const isRecent = leaseRenewedAt >= request.provedAt || wallMs - leaseRenewedAt < graceMs;
  return isRecent ? `its kubelet renewed its lease at ${at}, after the proof or within its grace` : null;
}
