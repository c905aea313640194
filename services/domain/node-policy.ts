/** Which policy a node has, by its labels. */
import { ConditionType, OBSERVED_LABELS } from "../../protocols/names.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import {
  type Freezes,
  type LabelRequirement,
  NO_FREEZES,
  type NodePolicy,
  type PolicyOfNode,
  type PolicySet,
} from "../../protocols/policy-set.ts";
import { fnv1a } from "../../protocols/subjects.ts";
import { evictionRatesOf } from "./eviction-rates.ts";

/** Most label keys that the selectors of all policies may use together: what a node's message has room for. */
export const SELECTOR_KEYS_MAX = 64;

/** Most condition types that all policies may name together, for the same reason. */
export const CONDITION_TYPES_MAX = 16;

const KEPT_CONDITIONS: readonly string[] = Object.values(ConditionType);

const NONE: PolicyOfNode = { kind: "none" };
const UNKNOWN: PolicyOfNode = { kind: "unknown" };

/** A set of policies, the freezes of all nodes, and the outages that are remembered; null for no memory of them. */
export function policySet(
  policies: readonly NodePolicy[],
  everywhere: Freezes = NO_FREEZES,
  outages: PolicySet["outages"] = null,
): PolicySet {
  const labelKeys = selectorKeys(policies);
  const conditionTypes = policyConditionTypes(policies);
  const keys = conditionTypes.length === 0 ? labelKeys : [...labelKeys, "", ...conditionTypes];
  const labelsChecksum = keys.length === 0 ? 0 : fnv1a(keys.join("\n"));
  return { policies, labelKeys, conditionTypes, labelsChecksum, everywhere, outages };
}

/** The label keys that NodeRestriction keeps a kubelet from setting on its own node have this prefix. */
const GUARDED_PREFIX = "node-restriction.kubernetes.io/";

/** The label keys of a selector that a kubelet may set, and so join or leave the policy. */
export function kubeletLabelKeys(selector: readonly LabelRequirement[]): readonly string[] {
  return [...new Set(selector.map(({ key }) => key))].filter((key) => !key.startsWith(GUARDED_PREFIX));
}

/** The label keys that selectors use and the observer does not keep for other reasons, sorted. */
export function selectorKeys(policies: readonly Pick<NodePolicy, "selector">[]): readonly string[] {
  const keys = policies.flatMap(({ selector }) => selector.map(({ key }) => key));
  return [...new Set(keys)].filter((key) => !OBSERVED_LABELS.includes(key)).sort();
}

/** The condition types that policies name and the observer does not keep for other reasons, sorted. */
export function policyConditionTypes(
  policies: readonly Pick<NodePolicy, "unhealthyConditions" | "maintenance">[],
): readonly string[] {
  const types = policies.flatMap(({ unhealthyConditions, maintenance }) => [
    ...unhealthyConditions.map(({ type }) => type),
    ...(maintenance?.hold ?? []),
  ]);
  return [...new Set(types)].filter((type) => !KEPT_CONDITIONS.includes(type)).sort();
}

/** The policy of a node. `set` is null while the policies are not completely known. */
export function policyOf(node: Pick<ObservedNode, "labels" | "policyLabels">, set: PolicySet | null): PolicyOfNode {
  if (set === null) return UNKNOWN;
  if (set.policies.length === 0) return NONE;
  if ((node.policyLabels ?? 0) !== set.labelsChecksum) return UNKNOWN;
  const [policy, ...others] = set.policies.filter(({ selector }) => selects(selector, node.labels));
  if (policy === undefined) return NONE;
  if (others.length === 0) return { kind: "policy", policy };
  return { kind: "conflict", names: [policy, ...others].map(({ name }) => name) };
}

/** The policy that applies to a node; null for none, where several select it, and while it is not known. */
export function appliedPolicyOf(
  node: Pick<ObservedNode, "labels" | "policyLabels">,
  set: PolicySet | null,
): NodePolicy | null {
  const resolved = policyOf(node, set);
  return resolved.kind === "policy" ? resolved.policy : null;
}

/** The policy whose rates count for the pods of a node; null for none, and while its policy is not known. */
export function ratedPolicyOf(
  node: Pick<ObservedNode, "labels" | "policyLabels">,
  set: PolicySet | null,
): NodePolicy | null {
  const policy = appliedPolicyOf(node, set);
  return policy !== null && evictionRatesOf(policy) !== null ? policy : null;
}

/** The policies that select a node: its own, or all that conflict, of which none applies. */
export function selectingPolicies(resolved: PolicyOfNode, set: PolicySet): readonly NodePolicy[] {
  if (resolved.kind === "policy") return [resolved.policy];
  return resolved.kind === "conflict" ? set.policies.filter(({ name }) => resolved.names.includes(name)) : [];
}

/** Whether labels meet every requirement of a selector, as Kubernetes matches them. */
export function selects(selector: readonly LabelRequirement[], labels: Readonly<Record<string, string>>): boolean {
  return selector.every((term) => satisfies(term, Object.hasOwn(labels, term.key) ? labels[term.key] : undefined));
}

/** Whether the value of a label, or its absence, satisfies a requirement about it. */
export function satisfies({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}
