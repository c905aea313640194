/**
 * Situations that chance alone reaches too rarely, brought about on purpose in a share of the seeds. A plot knows no
 * rule of Vigil and breaks nothing by itself.
 */
import { between, oneOf } from "./chance.ts";
import { later } from "./meddler.ts";
import { CHANGE_PLOTS } from "./plots.changes.ts";
import { MEMORY_PLOTS } from "./plots.memories.ts";
import { OUTAGE_PLOTS } from "./plots.outages.ts";
import { PREVIEW_PLOTS } from "./plots.previews.ts";
import { QUIET_PLOTS } from "./plots.quiet.ts";
import { BYSTANDERS, CHANGES_OF_NODES, dyingAgain, kubeletsOf, only, type Plot, SECOND, zone } from "./plots.stage.ts";
import { ZONE_PLOTS } from "./plots.zones.ts";
import { SIMULATED_SERVICES } from "./simulated-services.ts";
import type { FaultClass } from "./swarm.ts";

/** The names of the plots. A new one is added at the end, so the seeds of the others keep theirs. */
export const PLOT_NAMES = [
  "tiedZone",
  "restartsInPace",
  "restartsInCountdowns",
  "everyZoneSilent",
  "changesOfIllness",
  "combinedChaos",
  "longQueue",
  "endOfHalt",
  "ownersApart",
  "taintsUnderWay",
  "renewedTaints",
  "departures",
  "cutMember",
  "turnover",
  "latePulses",
  "lostNews",
  "drainsAndRestart",
  "wrongStamps",
  "outageAndRestarts",
  "lateStatuses",
  "outageMemory",
  "recordedStarts",
  "oneFailedRequest",
  "lastingFault",
  "apartServer",
  "deadOwner",
  "staleLists",
  "previewedFailure",
] as const;
/** A plot's name. */
export type PlotName = (typeof PLOT_NAMES)[number];

/** The faults that may hit requests and watches at the same time. */
const CHAOS: readonly FaultClass[] = ["writeConflicts", "cacheSyncLag", "flakyApi"];

/** Zones in which `silent` of `size` nodes are exactly the threshold, though above or below it as float32. */
const TIES: readonly (readonly [threshold: number, silent: number, size: number])[] = [
  [0.55, 11, 20],
  [0.6, 3, 5],
  [0.6, 6, 10],
  [0.65, 13, 20],
  [0.7, 7, 10],
  [0.75, 3, 4],
  [0.8, 4, 5],
  [0.9, 9, 10],
];

/** The plots by name. */
export const PLOTS: Readonly<Record<PlotName, Plot>> = {
  /** A zone of which exactly the threshold's share falls silent, or one node less, for good. */
  tiedZone: {
    stage: (swarm, random) => {
      const [unhealthyZoneThreshold, , size] = oneOf(random, TIES);
      return {
        ...swarm,
        zones: [zone(1, size, swarm), zone(2, between(random, 3, 4), swarm)],
        profile: { ...swarm.profile, unhealthyZoneThreshold },
        faults: new Set([...swarm.faults].filter((name) => !CHANGES_OF_NODES.has(name))),
      };
    },
    play: (reach, random) => {
      const { zones, profile } = reach.world.swarm;
      const size = zones[0]?.nodes ?? 0;
      const tie = TIES.find((of) => of[0] === profile.unhealthyZoneThreshold && of[2] === size);
      const silent = (tie?.[1] ?? 0) - (random() < 0.2 ? 1 : 0);
      for (const kubelet of kubeletsOf(reach, 1).slice(0, silent)) kubelet.stop();
      return () => {};
    },
  },

  /** A queue of nodes at a low rate, and the only process dies repeatedly between two grants. */
  restartsInPace: {
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 5, 9), swarm), zone(2, between(random, 3, 4), swarm)],
      processes: [[...SIMULATED_SERVICES]],
      profile: {
        ...swarm.profile,
        evictionMode: "taint",
        nodeEvictionsPerSecond: oneOf(random, [0.05, 0.1]),
        secondaryNodeEvictionsPerSecond: 0.01,
      },
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 130, 170) * SECOND,
    }),
    play: (reach, random) => {
      for (const kubelet of kubeletsOf(reach, 1)) kubelet.stop();
      return dyingAgain(reach, random, { livesSeconds: [3, 14], deadSeconds: [1, 3] });
    },
  },

  /** Pods that wait for their deadlines, and processes that die repeatedly meanwhile. */
  restartsInCountdowns: {
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 4, 8), swarm), zone(2, between(random, 3, 4), swarm)],
      podsPerNode: 4,
      processes: swarm.processes.slice(0, 2),
      profile: { ...swarm.profile, evictionMode: "taint", nodeEvictionsPerSecond: 1 },
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 160, 220) * SECOND,
    }),
    play: (reach, random) => {
      for (const kubelet of kubeletsOf(reach, 1).slice(0, 2)) kubelet.stop();
      return dyingAgain(reach, random, { livesSeconds: [15, 45], deadSeconds: [1, 8] });
    },
  },

  /** Every node falls silent, zone after zone, and after a while they return one by one. */
  everyZoneSilent: {
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 3, 6), swarm), zone(2, between(random, 1, 4), swarm)],
      faults: new Set([...swarm.faults].filter((name) => !CHANGES_OF_NODES.has(name))),
      safetyMs: between(random, 120, 180) * SECOND,
    }),
    play: (reach, random) => {
      const silentSeconds = reach.world.swarm.profile.nodeMonitorGraceMs / SECOND + between(random, 20, 60);
      const returns = [1, 2].flatMap((number) =>
        kubeletsOf(reach, number).map((kubelet) => {
          const silence = later(reach, random, [8 * number, 8 * number + 5], () => kubelet.stop());
          const back = later(reach, random, [silentSeconds, silentSeconds + 40], () => kubelet.start());
          return [silence, back];
        }),
      );
      return () => {
        for (const hasten of returns.flat()) hasten();
      };
    },
  },

  /**
   * Nodes that are not ready, fall silent and return not ready, with pods that tolerate the one longer than the other.
   */
  changesOfIllness: {
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 4, 8), swarm), zone(2, between(random, 3, 4), swarm)],
      podsPerNode: 4,
      toleration: "unequal",
      processes: swarm.processes.slice(0, 2),
      profile: { ...swarm.profile, evictionMode: "taint", nodeEvictionsPerSecond: 1 },
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 200, 260) * SECOND,
    }),
    play: (reach, random) => {
      const silentSeconds = reach.world.swarm.profile.nodeMonitorGraceMs / SECOND + between(random, 5, 30);
      const changes = kubeletsOf(reach, 1)
        .slice(0, 2)
        .flatMap((kubelet) => {
          const fallSeconds = between(random, 25, 60);
          const backSeconds = fallSeconds + silentSeconds;
          return [
            later(reach, random, [5, 15], () => kubelet.say("False")),
            later(reach, random, [fallSeconds, fallSeconds], () => kubelet.stop()),
            later(reach, random, [backSeconds, backSeconds], () => kubelet.start()),
            later(reach, random, [backSeconds + 20, backSeconds + 90], () => kubelet.say("True")),
          ];
        });
      const stopDying =
        random() < 0.5 ? () => {} : dyingAgain(reach, random, { livesSeconds: [15, 45], deadSeconds: [1, 8] });
      return () => {
        stopDying();
        for (const hasten of changes) hasten();
      };
    },
  },

  /** Conflicts, lagging watches and bursts of errors at once, while a zone loses nodes and processes die. */
  combinedChaos: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 4, 8), swarm), zone(2, between(random, 3, 4), swarm)],
      faults: new Set([...swarm.faults, ...CHAOS]),
      safetyMs: between(random, 120, 200) * SECOND,
    }),
    play: (reach, random) => {
      reach.count("combined chaos");
      const returns = kubeletsOf(reach, 1)
        .slice(0, 2)
        .flatMap((kubelet) => [
          later(reach, random, [5, 20], () => kubelet.stop()),
          later(reach, random, [60, 200], () => kubelet.start()),
        ]);
      const stopDying = dyingAgain(reach, random, { livesSeconds: [20, 60], deadSeconds: [1, 8] });
      return () => {
        stopDying();
        for (const hasten of returns) hasten();
      };
    },
  },
  ...ZONE_PLOTS,
  ...CHANGE_PLOTS,
  ...OUTAGE_PLOTS,
  ...MEMORY_PLOTS,
  ...QUIET_PLOTS,
  ...PREVIEW_PLOTS,
};
