/** Whether nothing is written for a node and its pods, because a policy with `mode: Shadow` selects it. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { NodePolicy, PolicySet } from "../../protocols/policy-set.ts";
import { policyOf } from "./node-policy.ts";

/** Whether the mode of any policy is Shadow. */
export function hasShadowPolicies(set: PolicySet | null): boolean {
  return set?.policies.some(isShadow) === true;
}

/**
 * Whether a node is in shadow mode; null while its policy is not known. Of a node with conflicting policies none
 * applies, but nothing is written if one of them is in shadow mode, because that one forbids writes.
 */
export function isInShadow(node: Pick<ObservedNode, "labels" | "policyLabels">, set: PolicySet | null): boolean | null {
  if (set === null) return null;
  if (!hasShadowPolicies(set)) return false;
  const resolved = policyOf(node, set);
  if (resolved.kind === "unknown") return null;
  if (resolved.kind === "policy") return isShadow(resolved.policy);
  return (
    resolved.kind === "conflict" && set.policies.some((each) => resolved.names.includes(each.name) && isShadow(each))
  );
}

/** The policy that puts a node in shadow mode, by the policies it was judged with; null for none. */
export function shadowPolicyOf(
  { policy, conflict = [] }: Pick<BodyOf<"judged.node">, "policy" | "conflict">,
  set: PolicySet | null,
): string | null {
  const found = set?.policies.find((each) => isShadow(each) && (each.name === policy || conflict.includes(each.name)));
  return found?.name ?? null;
}

function isShadow({ mode }: Pick<NodePolicy, "mode">): boolean {
  return mode === "Shadow";
}
