/** Which taints and labels a node should carry by its conditions. The zone decides when to add a NoExecute taint. */
import { CONDITION_TAINT_KEYS, ConditionType, FOLLOWING_LABELS, TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ConditionStatus, ObservedNode, TaintId } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { isSwappable } from "../domain/toleration.ts";
import { NOTHING_FOUND, type RequestedTaintChange, type TaintFinding } from "./concerns/concern.ts";

/** A change of a node's taints in one patch, with its reason. */
export type TaintChange = RequestedTaintChange;

/** The keys of the taints that follow the Ready condition: those of the NoExecute taints this controller owns. */
export const READINESS_KEYS: readonly string[] = [TaintKey.notReady, TaintKey.unreachable];

/** The NoSchedule taint for each condition and status that requires one (R4.18). */
const CONDITION_TAINTS: ReadonlyMap<string, Partial<Record<ConditionStatus, string>>> = new Map([
  [ConditionType.ready, { False: TaintKey.notReady, Unknown: TaintKey.unreachable }],
  [ConditionType.memoryPressure, { True: TaintKey.memoryPressure }],
  [ConditionType.diskPressure, { True: TaintKey.diskPressure }],
  [ConditionType.networkUnavailable, { True: TaintKey.networkUnavailable }],
  [ConditionType.pidPressure, { True: TaintKey.pidPressure }],
]);

/** Keys of the NoSchedule taints a node should carry: in the order of its conditions, then the cordon (R4.18). */
export function desiredNoScheduleKeys(node: Pick<ObservedNode, "conditions" | "unschedulable">): string[] {
  const keys: string[] = [];
  for (const { type, status } of node.conditions) {
    const key = CONDITION_TAINTS.get(type)?.[status];
    if (key !== undefined && !keys.includes(key)) keys.push(key);
  }
  if (node.unschedulable) keys.push(TaintKey.unschedulable);
  return keys;
}

/** Whether a node has a NoExecute taint of ours. */
export function carriesNoExecute(node: Pick<ObservedNode, "taints">): boolean {
  return node.taints.some(isSwappable);
}

/**
 * The change that a node's taints need; null for none. NoSchedule taints follow the conditions (R4.19–R4.22). A
 * NoExecute taint of ours that does not match Ready is swapped at once, and both are removed when the node is ready
 * (R4.33). A node that is not ready keeps the matching one (L4). Direct mode leaves NoExecute taints untouched (P14).
 * What concerns find is part of the change.
 */
export function taintChangeOf(
  node: ObservedNode,
  evictionMode: Profile["evictionMode"],
  found: TaintFinding = NOTHING_FOUND.taints,
): TaintChange | null {
  const condition = noScheduleChange(node, found);
  const eviction = evictionMode === "taint" ? noExecuteChange(node) : { add: [], remove: [] };
  const add = [...condition.add, ...found.add, ...eviction.add];
  const remove = [...condition.remove, ...found.remove, ...eviction.remove];
  if (add.length === 0) return remove.length === 0 ? found.alone : { add, remove, why: "healing" };
  return { add, remove, why: eviction.add.length > 0 ? "swap" : "conditions" };
}

/** The labels to set so that the deprecated names follow the stable ones (R4.27); null when they do. */
export function labelChangeOf(node: Pick<ObservedNode, "labels">): Record<string, string> | null {
  const changes = FOLLOWING_LABELS.flatMap(([truth, follower]) => {
    const value = node.labels[truth];
    return value === undefined || node.labels[follower] === value ? [] : [[follower, value] as const];
  });
  return changes.length === 0 ? null : Object.fromEntries(changes);
}

function carries(node: Pick<ObservedNode, "taints">, key: string, effect: string): boolean {
  return node.taints.some((taint) => taint.key === key && taint.effect === effect);
}

function noScheduleChange(
  node: ObservedNode,
  found: Pick<TaintFinding, "keeps">,
): { add: TaintId[]; remove: TaintId[] } {
  const effect = TaintEffect.noSchedule;
  const desired = desiredNoScheduleKeys(node);
  const isUnneeded = (key: string): boolean =>
    !desired.includes(key) && carries(node, key, effect) && !found.keeps({ key, effect });
  const remove = node.taints.length === 0 ? [] : CONDITION_TAINT_KEYS.filter(isUnneeded);
  return {
    add: desired.filter((key) => !carries(node, key, effect)).map((key) => ({ key, effect })),
    remove: remove.map((key) => ({ key, effect })),
  };
}

function noExecuteChange(node: ObservedNode): { add: TaintId[]; remove: TaintId[] } {
  const effect = TaintEffect.noExecute;
  const present = READINESS_KEYS.filter((key) => carries(node, key, effect)).map((key) => ({ key, effect }));
  const status = readyConditionOf(node)?.status;
  if (status === "True") return { add: [], remove: present };
  if (status === undefined) return { add: [], remove: [] };
  const matching = status === "False" ? TaintKey.notReady : TaintKey.unreachable;
  const remove = present.filter(({ key }) => key !== matching);
  const isSwap = remove.length > 0 && !carries(node, matching, effect);
  return { add: isSwap ? [{ key: matching, effect }] : [], remove };
}
