/**
 * `unhealthyConditions` of a policy: when a condition of a node requires a taint, and which taints of a node Vigil
 * added for that reason. The node service requests them, the zone grants those that evict, and the node-writer checks
 * each of them again on the node as read live.
 */
import { isOwnTaintValue, TaintEffect } from "../../protocols/names.ts";
import type { ConditionStatus, ObservedNode, Taint, TaintId } from "../../protocols/objects.ts";
import type { NodePolicy, UnhealthyCondition } from "../../protocols/policy-set.ts";
import { isSameTaint, isSwappable, taintName } from "./toleration.ts";

/** The status of a condition of a node; null when the node does not have it. */
export function statusOf({ conditions }: Pick<ObservedNode, "conditions">, type: string): ConditionStatus | null {
  return conditions.find((condition) => condition.type === type)?.status ?? null;
}

/**
 * Whether a status ends what a rule looks for. A condition that is missing says nothing, nor does Unknown where the
 * rule looks for another status: the program that posts it may have failed. Example: a rule looks for
 * KernelDeadlock=True. False heals it; Unknown and a missing condition do not.
 */
export function isHealed(
  { status: unhealthy }: Pick<UnhealthyCondition, "status">,
  status: ConditionStatus | null,
): boolean {
  return status !== null && status !== unhealthy && status !== "Unknown";
}

/**
 * From when a rule requires its taint by what is recorded on the node, in epoch milliseconds; null while the node does
 * not have the condition with that status, or no record says since when.
 */
function dueAt(
  node: Pick<ObservedNode, "conditions" | "conditionSightings">,
  { type, status, durationMs }: UnhealthyCondition,
): number | null {
  if (statusOf(node, type) !== status) return null;
  const observation = node.conditionSightings?.find((each) => each.type === type);
  return observation?.status === status ? observation.since + durationMs : null;
}

/** The rule of a policy that requires this taint on a node at an instant of the API's clock; null for none. */
export function ruleFor(
  node: Pick<ObservedNode, "conditions" | "conditionSightings">,
  { unhealthyConditions }: Pick<NodePolicy, "unhealthyConditions">,
  taint: TaintId & { readonly value?: string | undefined },
  at: number,
): UnhealthyCondition | null {
  const matching = unhealthyConditions.filter(
    (rule) => isSameTaint(rule.taint, taint) && rule.taint.value === taint.value,
  );
  return matching.find((rule) => (dueAt(node, rule) ?? Number.POSITIVE_INFINITY) <= at) ?? null;
}

/**
 * The taints of a node that are recorded as added for a condition. A kubelet can write the record, but must not change
 * the taints of its node: its value says whether such a taint may be removed (`isOwnTaintValue`).
 */
export function conditionTaintsOf({
  taints,
  conditionTaints,
}: Pick<ObservedNode, "taints" | "conditionTaints">): readonly Taint[] {
  if (conditionTaints === undefined) return NONE;
  return taints.filter((taint) => Object.hasOwn(conditionTaints, taintName(taint)) && !isSwappable(taint));
}

const NONE: readonly Taint[] = [];

/** Those of them that evict pods and are Vigil's. A record that its kubelet forged counts in no limit. */
export function evictingConditionTaintsOf(node: Pick<ObservedNode, "taints" | "conditionTaints">): readonly Taint[] {
  return conditionTaintsOf(node).filter(
    ({ effect, value }) => effect === TaintEffect.noExecute && isOwnTaintValue(value),
  );
}

/** The rules of a policy with this taint. */
export function rulesOfTaint(
  { unhealthyConditions }: Pick<NodePolicy, "unhealthyConditions">,
  taint: TaintId,
): readonly UnhealthyCondition[] {
  return unhealthyConditions.filter((rule) => isSameTaint(rule.taint, taint));
}
