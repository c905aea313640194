/** Which policies limit how many of their nodes are condemned. The zone service keeps the limits, in zone/limits. */
import type { NodePolicy } from "../../protocols/policy-set.ts";
import type { Profile } from "../../protocols/profile.ts";

/** The name under which the whole cluster is limited, by its own breaker. No policy has it. */
export const WHOLE_CLUSTER = "";

/** The fields of a policy that hold nodes back. */
export const LIMIT_FIELDS = ["circuitBreaker", "maxUnhealthy", "stormCooldownDuration", "budgets"] as const;
/** A field of a policy that holds nodes back. */
export type LimitField = (typeof LIMIT_FIELDS)[number];

/** Whether a policy has a limit. */
export function hasLimits({
  maxUnhealthy,
  circuitBreaker,
  stormCooldownMs,
  budgets,
}: Pick<NodePolicy, "maxUnhealthy" | "circuitBreaker" | "stormCooldownMs" | "budgets">): boolean {
  return maxUnhealthy !== null || circuitBreaker !== null || stormCooldownMs !== null || budgets.length > 0;
}

/** Whether the cluster has a breaker of its own. */
export function hasClusterBreaker({
  circuitBreakerNodesMax,
  circuitBreakerPercentage,
}: Pick<Profile, "circuitBreakerNodesMax" | "circuitBreakerPercentage">): boolean {
  return circuitBreakerNodesMax > 0 || circuitBreakerPercentage > 0;
}
