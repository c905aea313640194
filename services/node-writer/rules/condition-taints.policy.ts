/** Taints that the policy of a node adds for its conditions (`unhealthyConditions`), and the record of them. */
import { Annotation, isOwnTaintValue, TaintEffect } from "../../../protocols/names.ts";
import { isReservedTaintKey } from "../../../protocols/node-policy.ts";
import type { UnhealthyCondition } from "../../../protocols/policy-set.ts";
import { conditionTaintsText } from "../../domain/condition-records.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { isSameTaint, taintName } from "../../domain/toleration.ts";
import { conditionTaintsOf, ruleFor } from "../../domain/unhealthy-conditions.ts";
import type { AnnotationPatch, TaintContext, TaintPatch, TaintRule, WantedTaint } from "./taint-rule.ts";

/** How far the clocks of the node service and the node-writer may lie apart, in milliseconds. */
const CLOCKS_APART_MS = 2000;

const EFFECTS: readonly string[] = Object.values(TaintEffect);

/** Taints of conditions: any key outside Kubernetes' own may belong to a policy. */
export const CONDITION_TAINTS: TaintRule = {
  owns: ({ key, effect }) => !isReservedTaintKey(key) && EFFECTS.includes(effect),
  founded: (change, id, context) => {
    if (change === "remove") {
      return isOwn(id, context) ? null : `${taintName(id)} is not recorded as added for a condition`;
    }
    const isRequired = conditionRule(id, context) !== null;
    return isRequired ? null : `no condition of the node requires ${taintName(id)} by its policy`;
  },
  annotations: recordAnnotation,
  // Its condition may change between the live read and the patch.
  basis: ({ added }, context) => ({
    conditions: added.flatMap((id) => conditionRule(id, context)?.type ?? []),
    annotations: [],
  }),
};

/** Whether Vigil has added a taint. While no policy is known, one of them may require it. */
function isOwn(id: WantedTaint, { live, policies }: TaintContext): boolean {
  const recorded = live === null || policies === null ? [] : conditionTaintsOf(live);
  return recorded.some((taint) => isSameTaint(taint, id) && isOwnTaintValue(taint.value));
}

function conditionRule(taint: WantedTaint, { live, wallMs, policies }: TaintContext): UnhealthyCondition | null {
  if (live === null || isReservedTaintKey(taint.key)) return null;
  const resolved = policyOf(live, policies);
  return resolved.kind === "policy" ? ruleFor(live, resolved.policy, taint, wallMs + CLOCKS_APART_MS) : null;
}

/** The record of the taints that conditions require, after this change of them. */
function recordAnnotation({ kept, added, removed }: TaintPatch, context: TaintContext): AnnotationPatch {
  const isChanged = [...added, ...removed].some(({ key }) => !isReservedTaintKey(key));
  if (!isChanged || context.live === null) return {};
  const recorded = Object.entries(context.live.conditionTaints ?? {});
  const present = recorded.filter(([name]) => kept.some((taint) => taintName(taint) === name));
  const fresh = added.flatMap((taint) => {
    const rule = conditionRule(taint, context);
    return rule === null ? [] : [[taintName(taint), rule.type] as const];
  });
  return { [Annotation.conditionTaints]: conditionTaintsText(Object.fromEntries([...present, ...fresh])) };
}
