/**
 * All that is wished for a node at one moment, given what is known of it. Sending and repeating are the actor's work.
 */
import type { EvictionStatus } from "../../protocols/judged.ts";
import { TaintEffect } from "../../protocols/names.ts";
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { podsToEvict } from "./eviction.policy.ts";
import { conditionsToForce, type ForcedCondition } from "./silence.policy.ts";
import { labelChangeOf, type TaintChange, taintChangeOf } from "./taint.policy.ts";
import { type BoundPods, podsToMarkUnready } from "./unready.policy.ts";

/** What is known of a node when it is reviewed. */
export interface NodeSituation {
  readonly node: ObservedNode;
  /** Null while they are not known. */
  readonly pods: readonly ObservedPod[] | null;
  /** Which of them were bound while the kubelet reports Ready=False; null while it reports something else. */
  readonly bound: BoundPods | null;
  readonly isSilent: boolean;
  readonly eviction: EvictionStatus;
  readonly evictionMode: Profile["evictionMode"];
}

/** What is to become true of a node and its pods; empty lists and nulls where all is well. */
export interface DesiredChanges {
  readonly conditions: readonly ForcedCondition[];
  readonly taints: TaintChange | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly unready: readonly ObservedPod[];
  readonly evictions: readonly ObservedPod[];
}

/** Everything wished for a node by what is known of it. The pods of one without Ready are left alone (R2.23). */
export function desiredChangesOf({
  node,
  pods,
  bound,
  isSilent,
  eviction,
  evictionMode,
}: NodeSituation): DesiredChanges {
  const isDrained = evictionMode === "direct" && eviction === "evicted" && readyConditionOf(node) !== null;
  return {
    conditions: isSilent ? conditionsToForce(node) : [],
    taints: taintChangeOf(node, evictionMode),
    labels: labelChangeOf(node),
    unready: podsToMarkUnready(node, pods ?? [], bound),
    evictions: isDrained ? podsToEvict(pods ?? []) : [],
  };
}

/** What of the wishes may be asked for while blind: healing and labels. The rest waits until eyes are open. */
export function harmlessChanges(changes: DesiredChanges): DesiredChanges {
  return { ...changes, conditions: [], taints: healingOf(changes.taints), unready: [], evictions: [] };
}

/** What of a change of taints heals: what a Ready node is freed from does not wait for what else it is to carry. */
function healingOf(taints: TaintChange | null): TaintChange | null {
  if (taints?.why !== "conditions") return taints?.why === "healing" ? taints : null;
  const remove = taints.remove.filter(({ effect }) => effect === TaintEffect.noExecute);
  return remove.length === 0 ? null : { add: [], remove, why: "healing" };
}

/** Whether anything had to be left out. */
export function isHarmless({ conditions, taints, unready, evictions }: DesiredChanges): boolean {
  return conditions.length + unready.length + evictions.length === 0 && (taints === null || taints.why === "healing");
}
