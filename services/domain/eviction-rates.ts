/**
 * What policies say about evictions: which limit the rate at which the pods of their nodes are evicted, which the
 * pod-writer keeps, and when a pod is deleted that the Eviction API refuses. It reads no clock.
 */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { EvictionSettings, FrozenInterval, NodePolicy, PolicySet } from "../../protocols/policy-set.ts";
import { appliedPolicyOf } from "./node-policy.ts";
import { type OutageTime, silenceCountdownEndAt } from "./paused-time/outages.ts";

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

/** The policy whose rates count for the pods of a node; null for none, and while its policy is not known. */
export function ratedPolicyOf(
  node: Pick<ObservedNode, "labels" | "policyLabels">,
  set: PolicySet | null,
): NodePolicy | null {
  const policy = appliedPolicyOf(node, set);
  return policy !== null && evictionRatesOf(policy) !== null ? policy : null;
}

/** When an eviction was due, and when its node was and is frozen, in epoch milliseconds. */
export interface RefusedEviction {
  readonly deadlineAt: number;
  readonly frozen: readonly FrozenInterval[];
  /** The outages that pause the eviction; absent for none. */
  readonly outages?: OutageTime;
}

/**
 * When a pod is deleted although its eviction is refused, in epoch milliseconds; null for never. Frozen time and
 * outages do not count. Example: an eviction is due at 12:00 and `deleteAfter` is 10 min. A freeze from 12:05 to 12:20
 * pauses it, so the pod is deleted at 12:25.
 */
export function deleteAt(
  { method, deleteAfterMs }: Pick<EvictionSettings, "method" | "deleteAfterMs">,
  { deadlineAt, ...paused }: RefusedEviction,
): number | null {
  return method === "EvictThenDelete" && deleteAfterMs !== null
    ? silenceCountdownEndAt(deadlineAt, deleteAfterMs, paused)
    : null;
}
