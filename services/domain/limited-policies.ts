/** Which policies limit how many of their nodes are condemned. The zone service keeps the limits, in zone/limits. */
import type { BodyOf } from "../../protocols/messages.ts";
import { LIMITS_LEASE } from "../../protocols/names.ts";
import type { NodePolicy } from "../../protocols/policy-set.ts";
import type { Profile } from "../../protocols/profile.ts";

/** The name under which the whole cluster is limited, by its own breaker. No policy has it. */
export const WHOLE_CLUSTER = "";

/** The fields of a policy that hold nodes back. */
export const LIMIT_FIELDS = ["circuitBreaker", "maxUnhealthy", "stormCooldownDuration", "budgets"] as const;
/** A field of a policy that holds nodes back. */
export type LimitField = (typeof LIMIT_FIELDS)[number];

/** What holds nodes back instead of a field, on a side of the bus that does not hold the Lease of limits. */
export const LEASE_HOLD = `the Lease ${LIMITS_LEASE.name}` as const;

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

/** How many more nodes the budgets of a policy allow; null without a budget in force. */
export function budgetLeft({
  budget,
  condemned,
  permits,
}: Pick<BodyOf<"judged.limits">, "budget" | "condemned" | "permits">): number | null {
  return budget === undefined ? null : Math.max(0, budget - condemned - permits.length);
}

/** The fields of a process that are about the breaker of the cluster. */
export type ClusterBreakerProfile = Pick<
  Profile,
  "circuitBreakerNodesMax" | "circuitBreakerPercentage" | "circuitBreakerHolds" | "upstream"
>;

/**
 * Whose breakers keep the pods of the silent nodes of a policy, null for none, from being marked not ready while they
 * are open: the policy's, or that of the whole cluster. Beside upstream no process counts, so they hold nothing.
 */
export function readinessBreakersOf(
  policy: Pick<NodePolicy, "name" | "circuitBreaker"> | null,
  profile: ClusterBreakerProfile,
): readonly string[] {
  if (profile.upstream === "beside") return [];
  const own = policy?.circuitBreaker?.holdsReadiness === true ? [policy.name] : [];
  return clusterHoldsReadiness(profile) ? [...own, WHOLE_CLUSTER] : own;
}

/** Whether the breaker of the cluster holds readiness too. */
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
