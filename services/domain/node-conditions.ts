/**
 * Rules over a node's conditions and its lease. The publisher and the readers of pods share them, so that both count
 * the same pods; so do all services that wait for a node's grace.
 */
import { ConditionType, TaintEffect } from "../../protocols/names.ts";
import type { Condition, ObservedNode } from "../../protocols/objects.ts";
import type { NodePolicy } from "../../protocols/policy-set.ts";
import type { Profile } from "../../protocols/profile.ts";

/** The Ready condition of a node, the first where there are several (R2.31); null when it has none. */
export function readyConditionOf(node: Pick<ObservedNode, "conditions">): Condition | null {
  for (const condition of node.conditions) if (condition.type === ConditionType.ready) return condition;
  return null;
}

/**
 * Whether a live lease refutes that its node is silent: its renewTime differs from the one known, in either direction,
 * because a kubelet's clock may be set back. A lease that is gone or has no time refutes nothing.
 */
export function refutesSilence(
  basis: { readonly leaseRenewedAt: number | null },
  liveRenewedAt: number | null,
): boolean {
  return liveRenewedAt !== null && liveRenewedAt !== basis.leaseRenewedAt;
}

/** Whether a node's pods are published: it is not known to be ready, or has a NoExecute taint. */
export function needsPods(node: Pick<ObservedNode, "conditions" | "taints">): boolean {
  return (
    readyConditionOf(node)?.status !== "True" || node.taints.some((taint) => taint.effect === TaintEffect.noExecute)
  );
}

/** The graces of a node; those of its policy count before those of the profile. */
export type Graces = Pick<NodePolicy, "nodeMonitorGraceMs" | "nodeStartupGraceMs">;

/** A node's grace in milliseconds. It is longer until the node posts a Ready condition (R2.32, R2.33). */
export function graceMsOf(
  node: Pick<ObservedNode, "conditions">,
  profile: Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs">,
  policy: Graces | null = null,
): number {
  return readyConditionOf(node) === null
    ? (policy?.nodeStartupGraceMs ?? profile.nodeStartupGraceMs)
    : (policy?.nodeMonitorGraceMs ?? profile.nodeMonitorGraceMs);
}
