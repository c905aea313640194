/**
 * No decision depends on the name of a pod, so pods of one node that differ in nothing else share their fate, and the
 * services of a preview get one of them. Where a policy limits the rate of evictions they go one after the other, and
 * the services get all of them.
 */
import type { ObservedNode, ObservedPod } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { BoundPod } from "../../../protocols/ports.ts";
import { ratedPolicyOf } from "../../domain/eviction-rates.ts";
import { noExecuteTaints } from "../../domain/toleration.ts";

/** A pod that is bound so shortly before the preview may count from then, not from the taint of its node. */
const BOUND_LATELY_MS = 60_000;

/** Pods of one node that share their fate. */
export interface AlikePods {
  /** The one that the services get. */
  readonly first: BoundPod;
  readonly pods: readonly ObservedPod[];
}

/** What decides about the fate of pods besides themselves; `takenAt` is the start of the preview. */
export interface GroupingRules {
  readonly takenAt: number;
  readonly policies: PolicySet;
  /** Whether a disruption budget counts the pod with this uid. */
  readonly isProtected: (uid: string) => boolean;
}

/** The pods of a node, grouped. */
export function alikePods(
  node: ObservedNode,
  bound: readonly BoundPod[],
  { takenAt, policies, isProtected }: GroupingRules,
): AlikePods[] {
  const isTainted = noExecuteTaints(node.taints).length > 0;
  const isRated = ratedPolicyOf(node, policies) !== null;
  const kindOf = ({ pod }: BoundPod): string => {
    const { namespace: _namespace, name: _name, uid, createdAt: _createdAt, boundAt, ...rest } = pod;
    const isDated = boundAt > takenAt - BOUND_LATELY_MS || isTainted;
    return isRated || isProtected(uid) ? uid : JSON.stringify([isDated ? boundAt : null, rest]);
  };
  return [...Map.groupBy(bound, kindOf).values()].flatMap((alike) => {
    const [first] = alike;
    return first === undefined ? [] : [{ first, pods: alike.map(({ pod }) => pod) }];
  });
}
