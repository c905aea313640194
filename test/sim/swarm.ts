/** What one seed draws: a cluster, a fleet, a profile, and which classes of fault are on. It runs nothing. */
import type { Random, ServiceName } from "../../protocols/ports.ts";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { seededRandom } from "../../services/runtime/random.ts";

/** The classes of fault. Half of them are off in any run. */
export const FAULT_CLASSES = [
  "loss",
  "lostPulses",
  "doubling",
  "lateness",
  "partitions",
  "slowConsumers",
  "crashes",
  "apiRefusals",
  "apiTimeouts",
  "lostReplies",
  "watchCuts",
  "compaction",
  "staleWatches",
  "apiOutages",
  "deniedDeletes",
  "clockSteps",
  "clockDrift",
  "death",
  "zoneDeath",
  "flapping",
  "lag",
  "notReady",
  "missingReady",
  "nodeChurn",
  "zoneMoves",
  "podChurn",
  "tolerationEdits",
  "humanTaints",
  "cordons",
] as const;
/** A class of fault. */
export type FaultClass = (typeof FAULT_CLASSES)[number];

/** How a zone's nodes are labelled: with stable labels, beta labels, or none. */
export type ZoneLabels = "stable" | "beta" | "none";

/** A zone of the cluster; it may be empty until a node moves there. */
export interface ZonePlan {
  readonly name: string;
  readonly labels: ZoneLabels;
  readonly nodes: number;
}

/** One run, as drawn. */
export interface Swarm {
  readonly seed: number;
  readonly zones: readonly ZonePlan[];
  readonly podsPerNode: number;
  /** The services of each process. */
  readonly processes: readonly (readonly ServiceName[])[];
  readonly profile: Profile;
  readonly faults: ReadonlySet<FaultClass>;
  /** How long the faults go on. */
  readonly safetyMs: number;
}

const SECOND = 1000;

/** A stream of chance of its own for each purpose, so that one more draw in one shifts no other. */
export function chanceOf(seed: number, purpose: string): Random {
  return seededRandom(`${seed}/${purpose}`);
}

/** A whole number from `least` to `most`. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** One of several. */
export function oneOf<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.floor(random() * choices.length)];
  if (choice === undefined) throw new RangeError("there is nothing to choose from");
  return choice;
}

/** The run that a seed stands for. */
export function drawSwarm(seed: number): Swarm {
  const random = chanceOf(seed, "swarm");
  return {
    seed,
    zones: drawZones(random),
    podsPerNode: between(random, 1, 4),
    processes: drawProcesses(random),
    profile: drawProfile(random),
    faults: new Set(FAULT_CLASSES.filter(() => random() < 0.5)),
    safetyMs: between(random, 80, 180) * SECOND,
  };
}

function drawZones(random: Random): ZonePlan[] {
  const count = between(random, 1, 6);
  // Mostly small clusters, because they reach more states in the same time; a few large ones for the large-zone rules.
  const nodesMax = random() < 0.94 ? 8 : 85;
  return Array.from({ length: count }, (_, index) => ({
    name: `zone-${index + 1}`,
    labels: oneOf<ZoneLabels>(random, ["stable", "stable", "beta", "none"]),
    nodes: index > 0 && random() < 0.1 ? 0 : between(random, index === 0 ? 3 : 1, nodesMax),
  }));
}

function drawProcesses(random: Random): ServiceName[][] {
  const count = oneOf(random, [1, 1, 2, 2, 3, 5]);
  const all = [...SERVICE_NAMES];
  if (count === 1) return [all];
  const processes = Array.from({ length: count }, () => (random() < 0.5 ? all : all.filter(() => random() < 0.6)));
  // Every service runs somewhere, and somewhere else too, so that there is somebody to take over.
  return [all, ...processes.slice(1)];
}

function drawProfile(random: Random): Profile {
  const graceSeconds = oneOf(random, [20, 40, 50]);
  // Pulses of 64 shards are most of what a run costs: quick ones are drawn, but seldom.
  const pulseSeconds = oneOf(random, [4, 8, 12, 12]);
  return {
    ...STANDARD_PROFILE,
    nodeMonitorGraceMs: graceSeconds * SECOND,
    nodeStartupGraceMs: (graceSeconds + 10) * SECOND,
    podEvictionTimeoutMs: oneOf(random, [30, 60]) * SECOND,
    unhealthyZoneThreshold: oneOf(random, [0.55, 0.6]),
    nodeEvictionsPerSecond: oneOf(random, [0.1, 0.5, 1]),
    secondaryNodeEvictionsPerSecond: oneOf(random, [0.01, 0.1]),
    largeClusterSizeThreshold: oneOf(random, [5, 50]),
    evictionMode: random() < 0.2 ? "direct" : "taint",
    pulsePeriodMs: pulseSeconds * SECOND,
    pulseTimeoutMs: (3 * pulseSeconds + 2) * SECOND,
    leaseBatchMs: oneOf(random, [100, 500]),
    watchBlindMs: 10 * SECOND,
  };
}
