/**
 * Which policies limit how many of their nodes are admitted for eviction. The zone service keeps the limits, in
 * zone/limits.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import { LIMITS_LEASE, TaintEffect } from "../../protocols/names.ts";
import type { NodePolicy } from "../../protocols/policy-set.ts";
import type { Profile } from "../../protocols/profile.ts";

/** The name under which the whole cluster is limited, by its own breaker. No policy has it. */
export const WHOLE_CLUSTER = "";

/** The name under which all policies together are limited, by the operator's ceiling. No policy has it. */
export const POLICY_CEILING = "*";

/** The flag of the ceiling, which blocks nodes as a field of a policy does. */
export const CEILING_FLAG = "--policy-max-tainted-nodes";

/** The fields of a policy that block nodes. */
export const LIMIT_FIELDS = ["circuitBreaker", "maxUnhealthy", "stormCooldownDuration", "budgets"] as const;
/** A field of a policy that blocks nodes. */
export type LimitField = (typeof LIMIT_FIELDS)[number];

/** What blocks nodes instead of a field, on a side of the bus that does not hold the Lease of limits. */
export const LEASE_BLOCK = `the Lease ${LIMITS_LEASE.name}` as const;

/** How often the limits of a policy at rest are published again, in milliseconds. */
export const LIMITS_REPEAT_MS = 10_000;

/** Whether a policy has a limit. */
export function hasLimits({
  maxUnhealthy,
  circuitBreaker,
  stormCooldownMs,
  budgets,
}: Pick<NodePolicy, "maxUnhealthy" | "circuitBreaker" | "stormCooldownMs" | "budgets">): boolean {
  return maxUnhealthy !== null || circuitBreaker !== null || stormCooldownMs !== null || budgets.length > 0;
}

/** The fields of a process that are about the ceiling on the nodes that policies taint NoExecute. */
export type CeilingProfile = Pick<
  Profile,
  "policyTaintedNodesMax" | "policyTaintedPercentageMax" | "policyTaintedDurationMs" | "evictionMode"
>;

/** Whether the operator's ceiling applies: some policy taints nodes NoExecute. In direct mode no policy does. */
export function hasCeiling(
  policies: readonly Pick<NodePolicy, "unhealthyConditions">[],
  { policyTaintedNodesMax, policyTaintedPercentageMax, evictionMode }: CeilingProfile,
): boolean {
  const isSet = policyTaintedNodesMax > 0 || policyTaintedPercentageMax > 0;
  return isSet && evictionMode === "taint" && policies.some(evictsForConditions);
}

/** Whether a policy has a rule that taints nodes NoExecute, Ready ones included. */
export function evictsForConditions({ unhealthyConditions }: Pick<NodePolicy, "unhealthyConditions">): boolean {
  return unhealthyConditions.some(({ taint }) => taint.effect === TaintEffect.noExecute);
}

/** The names under which limits are published: the cluster, all policies together, and each policy with limits. */
export function limitedNames(policies: readonly NodePolicy[]): ReadonlySet<string> {
  const together = policies.some(evictsForConditions) ? [POLICY_CEILING] : [];
  return new Set([WHOLE_CLUSTER, ...together, ...policies.filter(hasLimits).map(({ name }) => name)]);
}

/**
 * How many more nodes the budgets of a policy allow; null without one in force. A permit is no admission yet. Example:
 * with a budget of 5 and 3 admitted nodes, 2 more may go.
 */
export function budgetLeft({
  budget,
  condemned,
}: Pick<BodyOf<"judged.limits">, "budget" | "condemned">): number | null {
  return budget === undefined ? null : Math.max(0, budget - condemned);
}

/** The fields of a process that are about the breaker of the cluster. */
export type ClusterBreakerProfile = Pick<
  Profile,
  "circuitBreakerNodesMax" | "circuitBreakerPercentage" | "circuitBreakerHolds" | "upstream"
>;

/**
 * Whose breakers keep the pods of the silent nodes of a policy, null for none, from being marked not ready while they
 * are open: the policy's, or that of the whole cluster. Beside upstream no process counts the nodes, so no breaker
 * applies.
 */
export function readinessBreakersOf(
  policy: Pick<NodePolicy, "name" | "circuitBreaker"> | null,
  profile: ClusterBreakerProfile,
): readonly string[] {
  if (profile.upstream === "beside") return [];
  const own = policy?.circuitBreaker?.holdsReadiness === true ? [policy.name] : [];
  return clusterHoldsReadiness(profile) ? [...own, WHOLE_CLUSTER] : own;
}

/** Whether the breaker of the cluster covers readiness too. */
export function clusterHoldsReadiness(profile: Omit<ClusterBreakerProfile, "upstream">): boolean {
  return hasClusterBreaker(profile) && profile.circuitBreakerHolds.split(",").includes("Readiness");
}

/** Whether the cluster has a breaker of its own. */
export function hasClusterBreaker({
  circuitBreakerNodesMax,
  circuitBreakerPercentage,
}: Pick<Profile, "circuitBreakerNodesMax" | "circuitBreakerPercentage">): boolean {
  return circuitBreakerNodesMax > 0 || circuitBreakerPercentage > 0;
}
