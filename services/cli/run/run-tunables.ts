/** The flags of a run that decide what follows from a failure. A running process reports their values. */
import { type Profile, TUNABLES } from "../../../protocols/profile.ts";

/** These flags with the values that `vigil run` has. */
export const RUN_TUNABLES = {
  nodeMonitorGraceMs: TUNABLES.nodeMonitorGraceMs,
  nodeStartupGraceMs: TUNABLES.nodeStartupGraceMs,
  podEvictionTimeoutMs: TUNABLES.podEvictionTimeoutMs,
  nodeEvictionsPerSecond: TUNABLES.nodeEvictionsPerSecond,
  secondaryNodeEvictionsPerSecond: TUNABLES.secondaryNodeEvictionsPerSecond,
  largeClusterSizeThreshold: TUNABLES.largeClusterSizeThreshold,
  unhealthyZoneThreshold: TUNABLES.unhealthyZoneThreshold,
  evictionMode: TUNABLES.evictionMode,
  circuitBreakerNodesMax: TUNABLES.circuitBreakerNodesMax,
  circuitBreakerPercentage: TUNABLES.circuitBreakerPercentage,
  circuitBreakerDurationMs: TUNABLES.circuitBreakerDurationMs,
  circuitBreakerResetAfterMs: TUNABLES.circuitBreakerResetAfterMs,
  circuitBreakerHolds: TUNABLES.circuitBreakerHolds,
  policyGraceMinMs: TUNABLES.policyGraceMinMs,
  policyEvictionsPerSecondMax: TUNABLES.policyEvictionsPerSecondMax,
  policyTaintedNodesMax: TUNABLES.policyTaintedNodesMax,
  policyTaintedPercentageMax: TUNABLES.policyTaintedPercentageMax,
  policyTaintedDurationMs: TUNABLES.policyTaintedDurationMs,
  remediationDryRun: TUNABLES.remediationDryRun,
} as const;

/** Their values in a process. */
export function runSettingsOf(profile: Profile): Readonly<Partial<Profile>> {
  const names = Object.keys(RUN_TUNABLES) as (keyof typeof RUN_TUNABLES)[];
  return Object.fromEntries(names.map((name) => [name, profile[name]]));
}
