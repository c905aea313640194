/** Which policies limit the rate at which the pods of their nodes are evicted; the pod-writer keeps to it. */
import type { EvictionSettings, NodePolicy, PolicySet } from "../../protocols/policy-set.ts";

/** The most pods that may be evicted within a minute: in all, and of one namespace; null for no limit. */
export type EvictionRates = Pick<EvictionSettings, "perMinuteMax" | "perNamespacePerMinuteMax">;

/** The fields of a policy that limit the rate of evictions. */
export const RATE_FIELDS = ["evictions.maxPerMinute", "evictions.maxPerNamespacePerMinute"] as const;
/** A field of a policy that limits the rate of evictions. */
export type RateField = (typeof RATE_FIELDS)[number];

/** The rates of a policy; null when it has none. */
export function evictionRatesOf({ evictions }: Pick<NodePolicy, "evictions">): EvictionRates | null {
  if (evictions === null) return null;
  return evictions.perMinuteMax === null && evictions.perNamespacePerMinuteMax === null ? null : evictions;
}

/** The names of the policies that have rates. */
export function ratedPoliciesOf({ policies }: Pick<PolicySet, "policies">): ReadonlySet<string> {
  return new Set(policies.filter((policy) => evictionRatesOf(policy) !== null).map(({ name }) => name));
}
