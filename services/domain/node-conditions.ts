/**
 * Rules over a node's conditions. The publisher and the readers of pods share them, so that both count the same pods.
 */
import { ConditionType, TaintEffect } from "../../protocols/names.ts";
import type { Condition, ObservedNode } from "../../protocols/objects.ts";

/** The Ready condition of a node, the first where there are several (R2.31); null when it has none. */
export function readyConditionOf(node: Pick<ObservedNode, "conditions">): Condition | null {
  for (const condition of node.conditions) if (condition.type === ConditionType.ready) return condition;
  return null;
}

/** Whether a node's pods are published: it is not known to be ready, or has a NoExecute taint. */
export function needsPods(node: Pick<ObservedNode, "conditions" | "taints">): boolean {
  return (
    readyConditionOf(node)?.status !== "True" || node.taints.some((taint) => taint.effect === TaintEffect.noExecute)
  );
}
