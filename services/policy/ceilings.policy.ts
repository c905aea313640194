/**
 * Applies the operator's limits to node policies. A NodePolicy may be written by a client that may not evict a pod:
 *
 *   nodeMonitorGracePeriod: 1ms    shorter than --policy-min-grace-period     every live node would flip for ever
 *   nodeEvictionRate: 1e9          more than --policy-max-eviction-rate       a pool would be evicted within a second
 *
 * A field that goes beyond what the process allows counts as unset, and the policy's status says so. What the process
 * itself has without policies is always allowed, and a policy of --config is the operator's own and has no ceiling.
 */
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import type { Profile } from "../../protocols/profile.ts";
import { formatDuration, parseDuration } from "../domain/duration.ts";
import type { ParsedSpec } from "../domain/node-policy.parse.ts";

/** The highest and lowest values that policies may set. */
export type Ceilings = Pick<
  Profile,
  "policyGraceMinMs" | "policyEvictionsPerSecondMax" | "nodeMonitorGraceMs" | "nodeEvictionsPerSecond"
>;

const GRACES = ["nodeMonitorGracePeriod", "nodeStartupGracePeriod"] as const;
const RATES = ["nodeEvictionRate", "secondaryNodeEvictionRate", "fullDisruptionEvictionRate"] as const;

/** A checked spec without the fields that go beyond the ceilings, each of which adds one problem. */
export function withinCeilings(checked: ParsedSpec, ceilings: Ceilings): ParsedSpec {
  const { spec, problems } = checked;
  if (spec === null) return checked;
  const beyond = new Map([...shortGraces(spec, ceilings), ...highRates(spec, ceilings)]);
  if (beyond.size === 0) return checked;
  const kept = Object.entries(spec).filter(([field]) => !beyond.has(field));
  return { ...checked, spec: Object.fromEntries(kept) as NodePolicySpec, problems: [...problems, ...beyond.values()] };
}

type Beyond = readonly [field: string, message: string];

function shortGraces(spec: NodePolicySpec, { policyGraceMinMs, nodeMonitorGraceMs }: Ceilings): Beyond[] {
  const minMs = Math.min(policyGraceMinMs, nodeMonitorGraceMs);
  const fix = `write ${formatDuration(minMs)} or longer; --policy-min-grace-period allows no shorter one`;
  return GRACES.flatMap((field): Beyond[] => {
    const written = spec[field];
    if (written === undefined || (parseDuration(written) ?? 0) >= minMs) return [];
    return [[field, `spec.${field}: "${written}": ${fix}`]];
  });
}

function highRates(spec: NodePolicySpec, { policyEvictionsPerSecondMax, nodeEvictionsPerSecond }: Ceilings): Beyond[] {
  const most = Math.max(policyEvictionsPerSecondMax, nodeEvictionsPerSecond);
  return RATES.flatMap((field): Beyond[] => {
    const written = spec[field];
    if (written === undefined || written <= most) return [];
    return [[field, `spec.${field}: ${written}: write ${most} or less; --policy-max-eviction-rate allows no more`]];
  });
}
