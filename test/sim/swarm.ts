/** What one seed draws: a cluster, a fleet, a profile, and which classes of fault are on. It runs nothing. */
import type { Random, ServiceName } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { between, chanceOf, oneOf } from "./chance.ts";
import { PREVIEW_PLOTS } from "./plots.previews.ts";
import { QUIET_PLOTS } from "./plots.quiet.ts";
import { PLOT_NAMES, PLOTS, type PlotName } from "./plots.ts";
import type { PolicyPlan } from "./policies/pools.ts";
import { withPolicies } from "./policies/stage.ts";
import { SIMULATED_SERVICES } from "./simulated-services.ts";

/**
 * The classes of fault. Half of the first ones are off in any run, and two thirds of those from `apiCuts` on. A new
 * class is added at the end: a kept seed names the last class of its time.
 */
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
  "apiCuts",
  "standstills",
  "slowApi",
  "wrongClocks",
  "staleReplica",
  "listRefusals",
  "foreignTaints",
  "joiningNodes",
  "writeConflicts",
  "cacheSyncLag",
  "flakyApi",
  "hostileNodes",
  "lyingMembers",
  "stolenSeeds",
  "smallBounds",
  "longOutages",
  "powerCuts",
  "restores",
  "leaseRefusals",
  "staticPods",
  "staleServers",
  "comparedTaints",
  "lyingStamps",
  "moments",
  "silentWatches",
  "apartServers",
  "forgedProofs",
  "rollouts",
] as const;
/** A class of fault. */
export type FaultClass = (typeof FAULT_CLASSES)[number];

/** What a seed may draw: a class of fault or a plot, or node policies where they are requested, with a preview. */
export type Situation = FaultClass | PlotName | "policies" | "previewedPolicies";

/** The last class that is on in every second run. */
const LAST_COMMON_CLASS: FaultClass = "cordons";
/** The last class that is on in every third run; later ones are on in every eighth. */
const LAST_RARE_CLASS: FaultClass = "smallBounds";

/** The classes with outages, each of which lasts minutes. */
const LASTING_CLASSES: readonly FaultClass[] = ["longOutages", "powerCuts", "restores"];

/** How a zone's nodes are labelled: with stable labels, beta labels, or none. */
export type ZoneLabels = "stable" | "beta" | "none";

/** A zone of the cluster; it may be empty until a node moves there. */
export interface ZonePlan {
  readonly name: string;
  readonly labels: ZoneLabels;
  readonly nodes: number;
}

/** A plot that slows down requests, and how far it lets watches be behind, in milliseconds. */
export interface Hindrance {
  readonly watchLagMs: number;
}

/** One run, as drawn. */
export interface Swarm {
  readonly seed: number;
  /** The plot; null in most runs. */
  readonly plot: PlotName | null;
  readonly zones: readonly ZonePlan[];
  readonly podsPerNode: number;
  /** The tolerations of pods: any, one node status longer than the other, those of foreign taints, or short ones. */
  readonly toleration: "any" | "unequal" | "maintenance" | "short";
  /** The services of each process. */
  readonly processes: readonly (readonly ServiceName[])[];
  readonly profile: Profile;
  readonly faults: ReadonlySet<FaultClass>;
  /** What its plot slows down, whatever classes are on; absent when nothing. */
  readonly hindrance?: Hindrance;
  /** Whether its processes run the policy service, which remembers outages; absent for not. Policies always do. */
  readonly remembersOutages?: boolean;
  /** How a run with node policies is disturbed; absent in a run without them. */
  readonly policies?: PolicyPlan;
  /** How long the faults last. */
  readonly safetyMs: number;
}

const SECOND = 1000;
/** The share of the seeds in which a common class is on, and that of a rarer one. */
const COMMON_SHARE = 0.5;
const RARE_SHARE = 1 / 3;
const RARER_SHARE = 1 / 8;
/** The share of the runs with stopped processes that last much longer. */
const LONG_SHARE = 0.1;
const LONGER_MS = 600_000;
/** The share of the runs in which outages are remembered, as they are wherever policies are followed. */
const MEMORY_SHARE = 0.8;
/** How much longer a run with outages lasts. */
const OUTAGES_MS = 240_000;
/** The share of the runs with tolerations by Lt and Gt in which their gate is on. */
const COMPARING_SHARE = 0.5;
/** The plots of runs that are not quiet, and the share of the seeds that each gets. */
const LOUD_PLOTS = PLOT_NAMES.filter((name) => !Object.hasOwn({ ...QUIET_PLOTS, ...PREVIEW_PLOTS }, name));
const PLOT_SHARE = 0.07;
/** The share of the other runs that get no plot in any case: a plot leaves few of the drawn classes on. */
const PLAIN_SHARE = 0.25;
/** The share of the runs without any other plot in which a failure is previewed. */
const PREVIEW_SHARE = 0.2;
/** The share of quiet runs: they are short, and no other run shows what a single fault does. */
const QUIET_SHARE = 0.2;
/** The part of them in which one request fails. */
const ONE_REQUEST_SHARE = 0.8;

/** The classes that a seed draws from, where they are not the usual ones. */
export interface DrawOptions {
  /** The last class that is drawn: a seed that was found before later classes existed does not draw them. */
  readonly upTo?: FaultClass;
  /** Classes that are always on. */
  readonly with?: readonly FaultClass[];
  /** Whether people change node policies and freezes, in place of a plot. No seed does so by itself. */
  readonly policies?: boolean;
  /** Whether the run is quiet in any case: nodes fail and recover, and nothing but one fault happens. */
  readonly quiet?: boolean;
}

/** The run of a seed. Each part is drawn from a stream of its own, so a new part changes no other. */
export function drawSwarm(seed: number, options: DrawOptions = {}): Swarm {
  const chance = (what: string): Random => chanceOf(seed, what);
  const faults = drawFaults(chance, options);
  const isComparing = faults.has("comparedTaints") && chance("comparisons")() < COMPARING_SHARE;
  const swarm: Swarm = {
    seed,
    plot: null,
    zones: drawZones(chance),
    podsPerNode: between(chance("pods"), 1, 4),
    toleration: "any",
    processes: drawProcesses(chance),
    profile: { ...drawProfile(chance), tolerationComparisonOperators: isComparing },
    faults,
    safetyMs: between(chance("safety"), 70, 160) * SECOND,
  };
  // Long enough for a process that is stopped for ten minutes.
  const isLong = swarm.faults.has("standstills") && chance("safety/standstills")() < LONG_SHARE;
  const hasOutages = LASTING_CLASSES.some((name) => swarm.faults.has(name));
  const addedMs = (isLong ? LONGER_MS : 0) + (hasOutages ? OUTAGES_MS : 0);
  const drawn = { ...swarm, safetyMs: swarm.safetyMs + addedMs };
  const isKnown = (name: FaultClass): boolean => classesUpTo(options).includes(name);
  if (options.policies === true) {
    return withPolicies(drawn, chance, {
      mayHaveBothOrders: isKnown("lyingStamps"),
      mayHaveMemories: isKnown("moments"),
      mayBePreviewed: isKnown("forgedProofs"),
      mayLoseZone: isKnown("rollouts"),
    });
  }
  const isPossible = (name: PlotName): boolean => isKnown(PLOTS[name].latest ?? LAST_COMMON_CLASS);
  const isDrawn = (name: PlotName, share: number): boolean => isPossible(name) && chance(`plot/${name}`)() < share;
  const quietPlot = chance("quiet")() < ONE_REQUEST_SHARE ? "oneFailedRequest" : "lastingFault";
  const isQuiet = options.quiet === true || isDrawn("oneFailedRequest", QUIET_SHARE);
  const isPlain = isKnown("apartServers") && chance("plain")() < PLAIN_SHARE;
  const loudPlots = isPlain ? [] : LOUD_PLOTS;
  const loudPlot = loudPlots.find((name) => isDrawn(name, PLOTS[name].share ?? PLOT_SHARE));
  // The last draw of all: it leaves every other seed what it draws.
  const lastPlot = isDrawn("previewedFailure", PREVIEW_SHARE) ? "previewedFailure" : undefined;
  const plot = isQuiet ? quietPlot : (loudPlot ?? lastPlot);
  const staged = plot === undefined ? drawn : { ...PLOTS[plot].stage(drawn, chance(`stage/${plot}`)), plot };
  return withMemory(staged, chance, options);
}

/** The same run with the service that remembers outages, in most seeds that are drawn since there is one. */
function withMemory(swarm: Swarm, chance: Chance, options: DrawOptions): Swarm {
  const isKnown = classesUpTo(options).includes("longOutages");
  if (!isKnown || chance("memory")() >= MEMORY_SHARE) return swarm;
  return { ...swarm, remembersOutages: true, processes: swarm.processes.map((services) => [...services, "policy"]) };
}

/** Whether a run has a class of fault on or plays a plot. */
export function meets({ faults, plot, policies }: Swarm, situation: Situation): boolean {
  if (situation === "policies") return policies !== undefined;
  if (situation === "previewedPolicies") return policies?.theme === "previews";
  return plot === situation || [...faults].some((fault) => fault === situation);
}

type Chance = (what: string) => Random;

function classesUpTo({ upTo }: DrawOptions): readonly FaultClass[] {
  return upTo === undefined ? FAULT_CLASSES : FAULT_CLASSES.slice(0, FAULT_CLASSES.indexOf(upTo) + 1);
}

function drawFaults(chance: Chance, options: DrawOptions): Set<FaultClass> {
  const isDrawn = (name: FaultClass, index: number): boolean => {
    const isBefore = (last: FaultClass): boolean => index <= FAULT_CLASSES.indexOf(last);
    const share = isBefore(LAST_COMMON_CLASS) ? COMMON_SHARE : isBefore(LAST_RARE_CLASS) ? RARE_SHARE : RARER_SHARE;
    return chance(`fault/${name}`)() < share;
  };
  return new Set([...classesUpTo(options).filter(isDrawn), ...(options.with ?? [])]);
}

function drawZones(chance: Chance): ZonePlan[] {
  const count = between(chance("zones"), 1, 6);
  // Mostly small clusters, because they reach more states in the same time, and a few large ones for the large-zone
  // rules.
  const nodesMax = chance("size")() < 0.94 ? 8 : 85;
  return Array.from({ length: count }, (_, index) => {
    const random = chance(`zone/${index + 1}`);
    const labels = oneOf<ZoneLabels>(random, ["stable", "stable", "beta", "none"]);
    const isEmpty = random() < 0.1 && index > 0;
    const nodes = isEmpty ? 0 : between(random, index === 0 ? 3 : 1, nodesMax);
    return { name: `zone-${index + 1}`, labels, nodes };
  });
}

function drawProcesses(chance: Chance): ServiceName[][] {
  const count = oneOf(chance("processes"), [1, 1, 2, 2, 3, 5]);
  const all = [...SIMULATED_SERVICES];
  // Every service runs in a process and in a second one, so there is always a successor.
  return Array.from({ length: count }, (_, index) => {
    const random = chance(`process/${index + 1}`);
    return index === 0 || random() < 0.5 ? all : all.filter(() => random() < 0.6);
  });
}

function drawProfile(chance: Chance): Profile {
  const one = <T>(what: keyof Profile, choices: readonly T[]): T => oneOf(chance(`profile/${what}`), choices);
  const graceSeconds = one("nodeMonitorGraceMs", [20, 40, 50]);
  // Pulses of 64 shards are most of a run's cost: short periods are drawn, but rarely.
  const pulseSeconds = one("pulsePeriodMs", [6, 8, 12, 12, 12, 12]);
  return {
    ...STANDARD_PROFILE,
    nodeMonitorGraceMs: graceSeconds * SECOND,
    nodeStartupGraceMs: (graceSeconds + 10) * SECOND,
    podEvictionTimeoutMs: one("podEvictionTimeoutMs", [30, 60]) * SECOND,
    unhealthyZoneThreshold: one("unhealthyZoneThreshold", [0.55, 0.6]),
    nodeEvictionsPerSecond: one("nodeEvictionsPerSecond", [0.1, 0.5, 1]),
    secondaryNodeEvictionsPerSecond: one("secondaryNodeEvictionsPerSecond", [0.01, 0.1]),
    largeClusterSizeThreshold: one("largeClusterSizeThreshold", [5, 50]),
    evictionMode: one("evictionMode", ["taint", "taint", "taint", "taint", "direct"]),
    pulsePeriodMs: pulseSeconds * SECOND,
    pulseTimeoutMs: (3 * pulseSeconds + 2) * SECOND,
    leaseBatchMs: one("leaseBatchMs", [100, 1_000]),
    watchBlindMs: 10 * SECOND,
    // People write rates of up to this (policies/people.ts).
    policyEvictionsPerSecondMax: 2,
    policyTaintedNodesMax: one("policyTaintedNodesMax", [1, 2, 2, 3]),
    policyTaintedPercentageMax: one("policyTaintedPercentageMax", [0, 0, 40]),
    policyTaintedDurationMs: one("policyTaintedDurationMs", [20, 60, 200]) * SECOND,
  };
}
