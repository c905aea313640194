/** Every change that a node and its pods need at one moment. The actor requests and retries them. */
import type { EvictionStatus } from "../../protocols/judged.ts";
import { TaintEffect } from "../../protocols/names.ts";
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import type { Findings } from "./concerns/concern.ts";
import { podsToEvict } from "./eviction.policy.ts";
import { conditionsToForce, type ForcedCondition } from "./silence.policy.ts";
import { labelChangeOf, type TaintChange, taintChangeOf } from "./taint.policy.ts";
import { type BoundPods, podsToMarkUnready } from "./unready.policy.ts";

/** What is known of a node when it is reviewed. */
export interface NodeSituation {
  readonly node: ObservedNode;
  /** Null while they are not known. */
  readonly pods: readonly ObservedPod[] | null;
  /** The pods bound while the kubelet reports Ready=False; null while it reports another status. */
  readonly bound: BoundPods | null;
  readonly isSilent: boolean;
  readonly eviction: EvictionStatus;
  readonly findings: Pick<Findings, "taints" | "annotations" | "keepsPodsReady">;
  readonly profile: Pick<Profile, "evictionMode" | "upstream">;
}

/** The desired changes; lists are empty and objects null where nothing must change. */
export interface DesiredChanges {
  readonly conditions: readonly ForcedCondition[];
  readonly taints: TaintChange | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly annotations: Readonly<Record<string, string | null>> | null;
  readonly unready: readonly ObservedPod[];
  readonly evictions: readonly ObservedPod[];
}

/** The changes that a node needs. The pods of a node without Ready stay untouched (R2.23). */
export function desiredChangesOf(situation: NodeSituation): DesiredChanges {
  const { node, bound, isSilent, eviction, findings, profile } = situation;
  const pods = situation.pods ?? [];
  const conditions = isSilent ? conditionsToForce(node) : [];
  if (profile.upstream === "beside") return changesBesideUpstream(node, pods, conditions);
  const isDrained = profile.evictionMode === "direct" && eviction === "evicted" && readyConditionOf(node) !== null;
  return {
    conditions,
    taints: taintChangeOf(node, profile.evictionMode, findings.taints),
    labels: labelChangeOf(node),
    annotations: findings.annotations,
    unready: findings.keepsPodsReady ? [] : podsToMarkUnready(node, pods, bound),
    evictions: isDrained ? podsToEvict(pods) : [],
  };
}

/**
 * Beside upstream, Vigil writes only what upstream would write later, so upstream takes nothing back. Upstream marks
 * the pods of a node only if it set Unknown itself (R2.28), so the pods of every Unknown node are Vigil's. Pods bound
 * while the kubelet reports Ready=False are upstream's (R3.11), and so are taints, labels and evictions.
 */
function changesBesideUpstream(
  node: ObservedNode,
  pods: readonly ObservedPod[],
  conditions: DesiredChanges["conditions"],
): DesiredChanges {
  const unready = podsToMarkUnready(node, pods, null);
  return { conditions, taints: null, labels: null, annotations: null, unready, evictions: [] };
}

/** The changes that may be requested while blind: healing and labels. The others wait until the view is synced. */
export function harmlessChanges(changes: DesiredChanges): DesiredChanges {
  return { ...changes, conditions: [], taints: healingOf(changes.taints), unready: [], evictions: [] };
}

/** The part that heals. A Ready node loses its NoExecute taints at once, even if it also needs another taint. */
function healingOf(taints: TaintChange | null): TaintChange | null {
  if (taints?.why !== "conditions") return taints?.why === "healing" ? taints : null;
  const remove = taints.remove.filter(({ effect }) => effect === TaintEffect.noExecute);
  return remove.length === 0 ? null : { add: [], remove, why: "healing" };
}

/** Whether all the changes may be requested while blind. */
export function isHarmless({ conditions, taints, unready, evictions }: DesiredChanges): boolean {
  return conditions.length + unready.length + evictions.length === 0 && (taints === null || taints.why === "healing");
}
