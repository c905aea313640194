/**
 * Every tunable of the controller: unit, default, flag and meaning; and the bounds of its lists, which have no flag.
 * platform/config reads flags and files.
 */
import {
  CONDEMNATION_SPANS_MAX,
  CONDEMNATIONS_MAX,
  EVICTION_PERMITS_MAX,
  FROZEN_INTERVALS_MAX,
  PERMITS_MAX,
} from "./judged.ts";

/** The unit of a tunable, which decides how it is written on a command line and in a file. */
export type TunableUnit = "duration" | "perSecond" | "fraction" | "count" | "switch" | "choice";

/** One tunable. */
export interface Tunable<V extends number | boolean | string> {
  readonly unit: TunableUnit;
  /** Flag name without dashes; upstream's name where upstream has the flag. */
  readonly flag: string;
  /** The default. */
  readonly standard: V;
  readonly meaning: string;
  /** Whether the flag is kube-controller-manager's. */
  readonly upstream: boolean;
  /** The allowed values of a choice. */
  readonly choices?: readonly string[];
  /** Smallest allowed value of a number; 0 when not given. */
  readonly least?: number;
  /** Largest allowed value of a number; that of the unit when not given. */
  readonly most?: number;
}

type Named<V extends number | boolean | string> = Omit<Tunable<V>, "unit" | "upstream">;
const SECOND = 1000;
const durationMs = (flag: string, standard: number, meaning: string, upstream = false, least = 1): Tunable<number> => ({
  unit: "duration",
  flag,
  standard,
  meaning,
  upstream,
  least,
});
const perSecond = (flag: string, standard: number, meaning: string, upstream = false): Tunable<number> => ({
  unit: "perSecond",
  flag,
  standard,
  meaning,
  upstream,
});
const count = (flag: string, standard: number, meaning: string, upstream = false, least = 0): Tunable<number> => ({
  unit: "count",
  flag,
  standard,
  meaning,
  upstream,
  least,
});
const onOff = (tunable: Named<boolean>): Tunable<boolean> => ({ unit: "switch", upstream: false, ...tunable });

/** The tunables by their name in code and in a configuration file. Defaults are kube-controller-manager 1.36's. */
export const TUNABLES = {
  nodeMonitorPeriodMs: durationMs(
    "node-monitor-period",
    5 * SECOND,
    "Accepted for compatibility with kube-controller-manager; there is no polling.",
    true,
  ),
  nodeMonitorGraceMs: durationMs(
    "node-monitor-grace-period",
    50 * SECOND,
    "Silence tolerated of a node that has posted its status.",
    true,
  ),
  nodeStartupGraceMs: durationMs(
    "node-startup-grace-period",
    60 * SECOND,
    "Silence tolerated of a node that has not posted its status yet.",
    true,
  ),
  podEvictionTimeoutMs: durationMs(
    "pod-eviction-timeout",
    300 * SECOND,
    "Direct mode only: how long a node may be not ready before its pods are deleted.",
    true,
    0,
  ),
  nodeEvictionsPerSecond: perSecond(
    "node-eviction-rate",
    0.1,
    "Nodes per second and zone that are tainted NoExecute while the zone is healthy.",
    true,
  ),
  secondaryNodeEvictionsPerSecond: perSecond(
    "secondary-node-eviction-rate",
    0.01,
    "The same in a partially disrupted zone that is large; in a small one it is 0.",
    true,
  ),
  largeClusterSizeThreshold: count(
    "large-cluster-size-threshold",
    50,
    "A zone is large when it has more nodes than this; compared per zone.",
    true,
  ),
  unhealthyZoneThreshold: {
    unit: "fraction",
    flag: "unhealthy-zone-threshold",
    standard: 0.55,
    meaning: "Share of not ready nodes, at least 3, from which a zone is partially disrupted.",
    upstream: true,
  } as Tunable<number>,
  circuitBreakerNodesMax: count(
    "circuit-breaker-max-nodes",
    0,
    "Most nodes of the cluster that are admitted for eviction within circuit-breaker-duration; one more trips the " +
      "breaker. 0: no limit.",
  ),
  circuitBreakerPercentage: {
    ...count(
      "circuit-breaker-percentage",
      0,
      "The same as a share of all nodes, in percent, rounded up; the lower limit counts. 0: no limit.",
    ),
    most: 100,
  } as Tunable<number>,
  circuitBreakerDurationMs: durationMs(
    "circuit-breaker-duration",
    600 * SECOND,
    "The window in which the cluster's breaker counts nodes newly admitted for eviction.",
  ),
  circuitBreakerResetAfterMs: durationMs(
    "circuit-breaker-reset-after",
    1800 * SECOND,
    "How long the cluster's breaker stays open once it has tripped; 0: until it is configured away.",
    false,
    0,
  ),
  circuitBreakerHolds: {
    unit: "choice",
    flag: "circuit-breaker-holds",
    standard: "Evictions",
    choices: ["Evictions", "Evictions,Readiness"],
    meaning:
      "What the cluster's breaker blocks while it is open. With Readiness the pods of silent nodes are not marked " +
      "not ready either, and it also trips once more nodes are newly down than it lets be admitted.",
    upstream: false,
  } as Tunable<string>,
  evictionMode: {
    unit: "choice",
    flag: "eviction-mode",
    standard: "taint",
    choices: ["taint", "direct"],
    meaning:
      "taint: NoExecute taints and tolerations decide; direct: a node's pods are deleted after pod-eviction-timeout.",
    upstream: false,
  } as Tunable<string>,
  upstream: {
    unit: "choice",
    flag: "upstream",
    standard: "replace",
    choices: ["replace", "beside"],
    meaning:
      "replace: upstream's controllers are switched off, and Vigil does their work; beside: they run, and Vigil only " +
      "marks silent nodes Unknown and their pods not ready, by its own grace period.",
    upstream: false,
  } as Tunable<string>,
  policyGraceMinMs: durationMs(
    "policy-min-grace-period",
    20 * SECOND,
    "Shortest grace period that a NodePolicy object may set; a shorter one counts as unset. For the processes that run " +
      "the service policy.",
    false,
    0,
  ),
  policyEvictionsPerSecondMax: perSecond(
    "policy-max-eviction-rate",
    1,
    "Highest rate, in nodes per second and zone, that a NodePolicy object may set; a higher one counts as unset. For " +
      "the processes that run the service policy.",
  ),
  policyTaintedNodesMax: count(
    "policy-max-tainted-nodes",
    5,
    "Most nodes that node policies together taint NoExecute, at once and within policy-tainted-duration. 0: no limit.",
  ),
  policyTaintedPercentageMax: {
    ...count(
      "policy-max-tainted-percentage",
      10,
      "The same in percent of all nodes, rounded up; the lower limit counts. 0: no limit.",
    ),
    most: 100,
  } as Tunable<number>,
  policyTaintedDurationMs: durationMs(
    "policy-tainted-duration",
    600 * SECOND,
    "The window in which newly tainted nodes count.",
  ),
  remediationDryRun: onOff({
    flag: "remediation-dry-run",
    standard: false,
    meaning:
      "Whether every remediation of node policies is a dry run, as with dryRun: the API server checks the object, and " +
      "creates none. For the processes that run the service policy.",
  }),
  tolerationComparisonOperators: onOff({
    flag: "toleration-comparison-operators",
    standard: false,
    meaning:
      "Whether the toleration operators Lt and Gt are understood (upstream gate TaintTolerationComparisonOperators).",
  }),
  leaseBatchMs: durationMs(
    "lease-batch",
    2 * SECOND,
    "How long heartbeats are collected before they are published; at most a tenth of the grace period.",
  ),
  pulsePeriodMs: durationMs(
    "pulse-period",
    2 * SECOND,
    "How often the observer publishes the state of its watches, for each shard.",
  ),
  pulseTimeoutMs: durationMs(
    "pulse-timeout",
    5 * SECOND,
    "Without a pulse for so long, or for pulse-period and watch-blind together, a reader is blind and makes no verdict.",
  ),
  watchQuietMs: durationMs(
    "watch-quiet",
    15 * SECOND,
    "A lease watch without an event for so long is compared with a live read before it is trusted again.",
  ),
  watchBlindMs: durationMs(
    "watch-blind",
    10 * SECOND,
    "A watch that could not be confirmed for so long is blind; afterwards every node gets its whole grace again.",
  ),
  resyncRetryMs: durationMs(
    "resync-retry",
    1 * SECOND,
    "Shortest interval between two requests to resync the same shard.",
  ),
  askRetryMs: durationMs(
    "ask-retry",
    2 * SECOND,
    "Interval after which a request whose change is not observed is repeated, twice; then doubles up to ask-retry-max.",
  ),
  askRetryMaxMs: durationMs("ask-retry-max", 60 * SECOND, "Longest interval between two requests for the same change."),
  memberPulseMs: durationMs("member-pulse", 1 * SECOND, "How often a process publishes its pulse to the fleet."),
  memberTimeoutMs: durationMs("member-timeout", 3 * SECOND, "A process without a pulse for so long is gone."),
  fleetMembersMax: count(
    "fleet-members-max",
    64,
    "Most processes that a fleet accepts at once; further ones own nothing and raise an alarm.",
    false,
    1,
  ),
  kubeApiQps: perSecond(
    "kube-api-qps",
    0,
    "Ceiling on writes per second to the API server; 0 adapts to the server's latency.",
    true,
  ),
  kubeApiBurst: count("kube-api-burst", 30, "Writes allowed at once under kube-api-qps.", true, 1),
  writesInFlightMax: count("writes-in-flight-max", 256, "Ceiling on writes in flight.", false, 1),
  mailboxMessagesMax: count(
    "mailbox-messages-max",
    100_000,
    "Messages waiting in one process before the oldest heartbeats are dropped.",
    false,
    1,
  ),
} as const satisfies Record<string, Tunable<number> | Tunable<boolean> | Tunable<string>>;

/** The name of a tunable. */
export type TunableName = keyof typeof TUNABLES;

/**
 * The most of each list that a process keeps, publishes or stores, as far as the bound changes what Vigil does: a
 * simulation sets them to 2 or 3, so that a few nodes reach what thousands would. No flag sets them. A value is never
 * higher than its default, which a message or an object of the API has room for.
 */
export interface Bounds {
  /** Admitted nodes that `judged.limits` names; the others are counted. */
  readonly condemnationsMax: number;
  /** Spans of time in which those others are counted. */
  readonly condemnationSpansMax: number;
  /** Characters of the memory of limits in its ConfigMap: half of its size. */
  readonly limitMemoryCharactersMax: number;
  /** Nodes of one policy that its zones may grant at once. */
  readonly permitsMax: number;
  /** Pods of one policy that their writers may evict at once. */
  readonly evictionPermitsMax: number;
  /** Waiting pods of a policy that an owner of the rates hands over. */
  readonly handedOverPodsMax: number;
  /** Characters of all that it hands over. The annotations of an object have 256 KiB. */
  readonly handoverCharactersMax: number;
  /** Frozen intervals of one policy, or of all nodes. */
  readonly frozenIntervalsMax: number;
  /** Ended maintenance windows of a node. */
  readonly endedHoldsMax: number;
  /** Live reads of one resource within half a second from which on one small read costs less than they do. */
  readonly provenReadsMin: number;
}

/** The bounds of every process that is not simulated. */
export const STANDARD_BOUNDS: Bounds = {
  condemnationsMax: CONDEMNATIONS_MAX,
  condemnationSpansMax: CONDEMNATION_SPANS_MAX,
  limitMemoryCharactersMax: 512 * 1024,
  permitsMax: PERMITS_MAX,
  evictionPermitsMax: EVICTION_PERMITS_MAX,
  handedOverPodsMax: 500,
  handoverCharactersMax: 200_000,
  frozenIntervalsMax: FROZEN_INTERVALS_MAX,
  endedHoldsMax: 16,
  provenReadsMin: 3,
};

/** A value for every tunable, in the unit of its name, and the bounds. */
export type Profile = { readonly [N in TunableName]: (typeof TUNABLES)[N] extends Tunable<infer V> ? V : never } & {
  readonly bounds: Bounds;
};

const STANDARD_TUNABLES = Object.fromEntries(
  Object.entries(TUNABLES).map(([name, tunable]) => [name, tunable.standard]),
) as Omit<Profile, "bounds">;

/** The profile with all defaults. */
export const STANDARD_PROFILE: Profile = { ...STANDARD_TUNABLES, bounds: STANDARD_BOUNDS };
