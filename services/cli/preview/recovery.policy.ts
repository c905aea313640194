/**
 * What a policy does about the machine of a silent node, besides evicting its pods: remediations, one after the other,
 * and the out-of-service taint. A preview knows no outcomes, so it assumes that each remediation times out, and says
 * from when on a proof would count. It reads no clock.
 */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { NodePolicy, PolicySet } from "../../../protocols/policy-set.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { outOfServiceStage, provableFrom } from "../../domain/out-of-service.ts";
import { countdownEndAt } from "../../domain/paused-time/frozen-time.ts";
import { isSwappable } from "../../domain/toleration.ts";
import { remediationKind } from "../../policy/remediations/remediation-object.policy.ts";
import type { PreviewedOutOfService, PreviewedRecovery, PreviewedRemediation } from "./preview.ts";

/** A node at the end of a preview. Instants are epoch milliseconds. */
export interface SilentNode {
  readonly node: ObservedNode;
  /** When it became Unknown; null when it did not, or before the preview. */
  readonly unknownAt: number | null;
  /** When it was tainted NoExecute; null when it was not. */
  readonly taintedAt: number | null;
}

/** What the recovery of a node depends on; `takenAt` is the start of the preview. */
export interface RecoveryContext {
  readonly policies: PolicySet;
  readonly profile: Pick<Profile, "evictionMode" | "upstream">;
  readonly takenAt: number;
}

/** The recovery of a node that becomes silent and is tainted within the preview; empty for any other. */
export function recoveryOf({ node, unknownAt, taintedAt }: SilentNode, context: RecoveryContext): PreviewedRecovery {
  const { policies, profile, takenAt } = context;
  const resolved = policyOf(node, policies);
  if (resolved.kind !== "policy" || unknownAt === null || taintedAt === null) return {};
  if (!node.taints.some(isSwappable) || profile.evictionMode !== "taint") return {};
  const { policy } = resolved;
  const { frozen } = nodeFreezeOf(node, policies, taintedAt);
  const situation = { node, policy, frozen, taintedAt, takenAt };
  const remediations = remediationsOf(situation);
  const outOfService = profile.upstream === "beside" ? null : outOfServiceOf(situation);
  return {
    ...(remediations.length === 0 ? {} : { remediations }),
    ...(outOfService === null ? {} : { outOfService }),
  };
}

interface Situation {
  readonly node: ObservedNode;
  readonly policy: NodePolicy;
  readonly frozen: ReturnType<typeof nodeFreezeOf>["frozen"];
  readonly taintedAt: number;
  readonly takenAt: number;
}

/** A remediation that is only explained is followed by none: no object of it times out. */
function remediationsOf({ policy, frozen, taintedAt, takenAt }: Situation): PreviewedRemediation[] {
  const found: PreviewedRemediation[] = [];
  let createdAt = taintedAt;
  for (const { template, timeoutMs, dryRun: isDryRun } of policy.remediations) {
    const endAt = countdownEndAt(createdAt, timeoutMs, frozen);
    found.push({
      kind: remediationKind(template),
      createdAfterMs: createdAt - takenAt,
      timesOutAfterMs: isDryRun || !Number.isFinite(endAt) ? null : endAt - takenAt,
      ...(isDryRun ? { isDryRun } : {}),
    });
    if (isDryRun || !Number.isFinite(endAt)) break;
    createdAt = endAt;
  }
  return found;
}

function outOfServiceOf({ node, policy, frozen, taintedAt, takenAt }: Situation): PreviewedOutOfService | null {
  const settings = policy.outOfService;
  const silentAt = provableFrom(node);
  if (settings === null || silentAt === null) return null;
  const stage = outOfServiceStage(node, settings, frozen, Number.POSITIVE_INFINITY);
  if (stage?.state === "on" || stage?.state === "takenOff") return null;
  const fromAt = Math.max(countdownEndAt(silentAt, settings.afterMs, frozen), taintedAt);
  return { fromAfterMs: Number.isFinite(fromAt) ? fromAt - takenAt : null, proofs: settings.proofs };
}
