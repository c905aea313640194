/**
 * Bounds that follow from the faults of a run: how far clocks may differ and how old a view may be. All bounds are in
 * milliseconds.
 */
import { isUnhindered } from "./promptness.ts";
import type { FaultClass, Swarm } from "./swarm.ts";

/** API stamps are truncated to whole seconds, and a stamp that is a second off is accepted. */
const STAMPS_MS = 2_000;
/** `Date` is truncated to whole seconds too. */
const DATE_MS = 1_000;

/**
 * How far a process's effective clock may be from the API server's, including what stamps cut off. The error of its
 * machine's clock does not matter, because the server's counts (docs/decisions/0004-the-api-servers-clock-counts.md).
 */
export const CLOCK_ERROR_MS = STAMPS_MS + DATE_MS;

/** The time of a message when nothing is slow: batched heartbeats, a few requests, the bus. */
const WAY_MS = 1_500;
/** After this a silent list or watch is detected: the quiet period, a read that times out, and the blind limit. */
const SILENT_WATCH_MS = 40_000;
/** How long a watch of nodes or pods may be stale without being detected, because it ends then. */
const STALE_WATCH_MS = 60_000;
/**
 * How long the cache of a server behind a load balancer is stopped. A watch there is verified by a list after three
 * minutes, but a process that starts there begins with a list that is older (docs/architecture.md).
 */
const STALE_SERVER_MS = 240_000;
/** After this a watch that is open and silent for good has been opened again, and its objects are listed. */
export const SILENT_FOR_GOOD_MS = 100_000;
/** A message that is late, or waits for a slow consumer. */
const LATE_MESSAGE_MS = 13_000;

const LOSING: readonly FaultClass[] = [
  "loss",
  "lostPulses",
  "doubling",
  "partitions",
  "crashes",
  "rollouts",
  "standstills",
  "powerCuts",
  "moments",
];
const DELAYING: readonly FaultClass[] = ["lateness", "slowConsumers", "moments"];
const SILENCING: readonly FaultClass[] = [
  ...(["apiRefusals", "apiTimeouts", "lostReplies", "watchCuts", "compaction", "apiOutages"] as const),
  ...(["apiCuts", "slowApi", "listRefusals", "writeConflicts", "cacheSyncLag", "flakyApi"] as const),
  ...(["longOutages", "powerCuts", "restores", "leaseRefusals"] as const),
];
const STALE: readonly FaultClass[] = ["staleReplica", "restores"];

/** How long a watch may show nothing new without being detected; 0 where none is silent. */
export function silentMaxMs({ faults }: Pick<Swarm, "faults">): number {
  if (faults.has("staleServers")) return STALE_SERVER_MS;
  if (faults.has("silentWatches")) return SILENT_FOR_GOOD_MS;
  return faults.has("staleWatches") ? STALE_WATCH_MS : 0;
}

/** How old a complete and quiet view may be: that of a silent watch, or of a replica behind the others. */
export function staleMaxMs(swarm: Pick<Swarm, "faults">): number {
  return Math.max(silentMaxMs(swarm), STALE.some((name) => swarm.faults.has(name)) ? STALE_WATCH_MS : 0);
}

/** How far a process may be behind the API while it considers its view complete. */
export function viewLagMs(swarm: Swarm): number {
  const { faults, profile, hindrance } = swarm;
  const has = (classes: readonly FaultClass[]): boolean => classes.some((name) => faults.has(name));
  return (
    WAY_MS +
    (hindrance?.watchLagMs ?? 0) +
    (has(LOSING) ? profile.pulseTimeoutMs : 0) +
    (has(DELAYING) ? LATE_MESSAGE_MS : 0) +
    (has(SILENCING) ? SILENT_WATCH_MS : 0) +
    staleMaxMs(swarm)
  );
}

/**
 * How far the zone service may be behind in what nodes were judged to be. No digest shows a lost judgement: it is
 * requested again once it has contradicted its observation for two pulses.
 */
export function judgementLagMs(swarm: Swarm): number {
  const { faults, profile } = swarm;
  const isLost = LOSING.some((name) => faults.has(name));
  return viewLagMs(swarm) + (isLost ? 2 * profile.pulsePeriodMs + profile.resyncRetryMs : 0);
}

/**
 * How long before its appearance a taint with a wrong stamp may count: since its owner last knew the node without it,
 * which was at a pulse (docs/decisions/0006-a-taint-counts-from-its-appearance.md). Under wrong clocks the oracle
 * treats every stamp as wrong.
 */
export function appearanceLagMs(swarm: Swarm): number {
  const { faults, plot, profile } = swarm;
  if (faults.has("stolenSeeds")) return viewLagMs(swarm);
  if (plot === "wrongStamps") return profile.pulsePeriodMs + viewLagMs(swarm);
  // On a slow server a write lands long after it was sent and stamped: a pulse in between shows the node without it.
  const isStampedEarly = faults.has("wrongClocks") && faults.has("slowApi");
  return isStampedEarly ? profile.pulsePeriodMs + WAY_MS : 0;
}

/**
 * How far it may be behind in heartbeats. A lost heartbeat is noticed only when the next one arrives, and that may be
 * lost too.
 */
export function heartbeatLagMs(swarm: Swarm): number {
  const { faults, profile } = swarm;
  return viewLagMs(swarm) + (faults.has("loss") || faults.has("moments") ? profile.nodeStartupGraceMs : 0);
}

/** How many shards may be suspect while an owner decides about zones without a node that it knows in them. */
const UNCERTAIN_SHARDS = 4;

/**
 * How many shards an owner may not have received when it announces a zone
 * (docs/decisions/0009-a-zone-needs-the-shards-of-its-own-nodes.md): none where no message is lost or late.
 */
export function unseenShardsMax({ faults }: Swarm): number {
  return [...LOSING, ...DELAYING].some((name) => faults.has(name)) ? UNCERTAIN_SHARDS : 0;
}

/** Whether messages are lost for all receivers alike, while no other message, request or clock is slow. */
export function isOnlyLossy(swarm: Swarm): boolean {
  const others = [...swarm.faults].filter((name) => name !== "lostPulses");
  return isUnhindered({ ...swarm, faults: new Set(others) });
}

/** How long a calm cluster may need beyond what the rates of its zones require. */
const CALM_MS = 420_000;

/** Faults by which a zone may have more nodes than was planned, and so be a large one (seed 950000012). */
const GROWING: readonly FaultClass[] = ["joiningNodes", "zoneMoves", "hostileNodes"];

/** How long a cluster of this many nodes may need to recover after the faults ended. */
export function calmMaxMs({ profile, zones, faults }: Swarm, nodes: number): number {
  const { nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond, largeClusterSizeThreshold } = profile;
  const mayGrow = GROWING.some((name) => faults.has(name));
  const largest = mayGrow ? nodes : Math.max(...zones.map((zone) => zone.nodes));
  const leastPerSecond = Math.min(nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond);
  const largestMs = largest > largeClusterSizeThreshold ? (largest / leastPerSecond) * 1000 : 0;
  return CALM_MS + Math.max(largestMs, (nodes / nodeEvictionsPerSecond) * 1000);
}
