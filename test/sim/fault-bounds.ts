/**
 * What follows from the faults of a run for how far clocks may be apart and how old a view may be. All bounds are in
 * milliseconds. It watches nothing itself.
 */
import { isUnhindered } from "./promptness.ts";
import type { FaultClass, Swarm } from "./swarm.ts";

/** API stamps are cut to whole seconds, and one that is a second off is believed. */
const STAMPS_MS = 2_000;
/** `Date` is cut to whole seconds too. */
const DATE_MS = 1_000;

/**
 * How far the clock that a process goes by may be from the API server's, what stamps leave out included: however wrong
 * its machine's clock is, the server's counts (docs/decisions/0021-the-api-servers-clock-counts.md).
 */
export const CLOCK_ERROR_MS = STAMPS_MS + DATE_MS;

/** What a message takes where nothing slows it down: collected heartbeats, a few requests, the bus. */
const WAY_MS = 1_500;
/** A list or a watch that says nothing is found out after this: quiet, a read that times out, and the blind limit. */
const SILENT_WATCH_MS = 40_000;
/** For so long a watch of nodes or pods may say nothing without anything that shows it. */
const STALE_WATCH_MS = 60_000;
/** A message that is late, or waits for a slow consumer. */
const LATE_MESSAGE_MS = 13_000;

const LOSING: readonly FaultClass[] = ["loss", "lostPulses", "doubling", "partitions", "crashes", "standstills"];
const DELAYING: readonly FaultClass[] = ["lateness", "slowConsumers"];
const SILENCING: readonly FaultClass[] = [
  ...(["apiRefusals", "apiTimeouts", "lostReplies", "watchCuts", "compaction", "apiOutages"] as const),
  ...(["apiCuts", "slowApi", "listRefusals", "writeConflicts", "cacheSyncLag", "flakyApi"] as const),
];
const STALE: readonly FaultClass[] = ["staleWatches", "staleReplica"];

/** How far a process may be behind the API while it takes its view for whole. */
export function viewLagMs(swarm: Swarm): number {
  const { faults, profile, hindrance } = swarm;
  const has = (classes: readonly FaultClass[]): boolean => classes.some((name) => faults.has(name));
  return (
    WAY_MS +
    (hindrance?.watchLagMs ?? 0) +
    (has(LOSING) ? profile.pulseTimeoutMs : 0) +
    (has(DELAYING) ? LATE_MESSAGE_MS : 0) +
    (has(SILENCING) ? SILENT_WATCH_MS : 0) +
    (has(STALE) ? STALE_WATCH_MS : 0)
  );
}

/**
 * How far it may be behind in heartbeats: one that was lost is missed only when the next comes, and that may be lost
 * too.
 */
export function heartbeatLagMs(swarm: Swarm): number {
  const { faults, profile } = swarm;
  return viewLagMs(swarm) + (faults.has("loss") ? profile.nodeStartupGraceMs : 0);
}

/** How many shards may be in doubt while an owner decides about zones without a node that it knows in them. */
const DOUBTFUL_SHARDS = 4;

/**
 * How many shards an owner may not have seen when it says how a zone is
 * (docs/decisions/0023-a-zone-needs-the-shards-of-its-own-nodes.md): none where no message is lost or late.
 */
export function unseenShardsMax({ faults }: Swarm): number {
  return [...LOSING, ...DELAYING].some((name) => faults.has(name)) ? DOUBTFUL_SHARDS : 0;
}

/** Whether messages are lost for all who would hear them and nothing slows down the others, a request or a clock. */
export function isOnlyLossy(swarm: Swarm): boolean {
  const others = [...swarm.faults].filter((name) => name !== "lostPulses");
  return isUnhindered({ ...swarm, faults: new Set(others) });
}

/** How long a calm cluster may take beyond what the rates of its zones need. */
const CALM_MS = 420_000;

/** How long a cluster of so many nodes may take to come right after the faults ended. */
export function calmMaxMs({ profile, zones }: Swarm, nodes: number): number {
  const { nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond, largeClusterSizeThreshold } = profile;
  const largest = Math.max(...zones.map((zone) => zone.nodes));
  const leastPerSecond = Math.min(nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond);
  const largestMs = largest > largeClusterSizeThreshold ? (largest / leastPerSecond) * 1000 : 0;
  return CALM_MS + Math.max(largestMs, (nodes / nodeEvictionsPerSecond) * 1000);
}
