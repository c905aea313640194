/** Plots about zones: their queues, their halts, and owners with little information about each other. */
import { LATENCY_MAX_MS } from "./api-path.ts";
import { between, oneOf } from "./chance.ts";
import { later } from "./meddler.ts";
import { BYSTANDERS, dyingAgain, kubeletsOf, only, type Plot, SECOND, zone } from "./plots.stage.ts";
import { SIMULATED_SERVICES } from "./simulated-services.ts";

/** The plots by name. */
export const ZONE_PLOTS = {
  /** Many nodes of a zone wait for their grants, and nothing disturbs the granting processes. */
  longQueue: {
    latest: "flakyApi",
    stage: (swarm, random) => {
      const zones = [zone(1, between(random, 7, 12), swarm), zone(2, between(random, 3, 4), swarm)];
      const nodeEvictionsPerSecond = oneOf(random, [0.1, 0.5, 1]);
      const safetyMs = between(random, 130, 170) * SECOND;
      const evictionMode = oneOf(random, ["taint", "taint", "direct"] as const);
      const dueMs = evictionMode === "direct" ? swarm.profile.podEvictionTimeoutMs : 0;
      return {
        ...swarm,
        zones,
        profile: { ...swarm.profile, evictionMode, nodeEvictionsPerSecond },
        faults: only(swarm, BYSTANDERS),
        safetyMs: safetyMs + dueMs,
      };
    },
    play: (reach) => {
      for (const kubelet of kubeletsOf(reach, 1)) kubelet.stop();
      return () => {};
    },
  },

  /** Every node of every zone is down, some with live kubelets. One of these falls silent, another recovers. */
  endOfHalt: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 4, 7), swarm), zone(2, between(random, 1, 3), swarm)],
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 150, 190) * SECOND,
    }),
    play: (reach, random) => {
      const graceSeconds = reach.world.swarm.profile.nodeMonitorGraceMs / SECOND;
      const [well, ...others] = kubeletsOf(reach, 1);
      const silentAt = between(random, 20, 30);
      const wellAt = silentAt + graceSeconds - between(random, 4, 14);
      for (const kubelet of reach.world.kubelets.values()) reach.world.asWorld(() => kubelet.say("False"));
      const falls = others.map((kubelet) => later(reach, random, [silentAt, silentAt + 8], () => kubelet.stop()));
      const recovers = later(reach, random, [wellAt, wellAt], () => well?.say("True"));
      return () => {
        for (const hasten of [...falls, recovers]) hasten();
      };
    },
  },

  /** A zone is down among healthy ones, and processes that own one each die and restart without knowledge. */
  ownersApart: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [1, 2, 3].map((number) => zone(number, between(random, 2, 4), swarm)),
      processes: Array.from({ length: between(random, 2, 4) }, () => [...SIMULATED_SERVICES]),
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 150, 200) * SECOND,
    }),
    play: (reach, random) => {
      const downs = between(random, 1, 2);
      for (let number = 1; number <= downs; number++) for (const kubelet of kubeletsOf(reach, number)) kubelet.stop();
      return dyingAgain(reach, random, { livesSeconds: [8, 20], deadSeconds: [1, 8] });
    },
  },

  /** Direct mode drains the nodes of a zone at a low rate, and the only process is restarted when most are drained. */
  drainsAndRestart: {
    latest: "stolenSeeds",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 11, 13), swarm), zone(2, between(random, 3, 4), swarm)],
      processes: [[...SIMULATED_SERVICES]],
      profile: {
        ...swarm.profile,
        evictionMode: "direct",
        nodeEvictionsPerSecond: 0.05,
        podEvictionTimeoutMs: 30 * SECOND,
      },
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 330, 350) * SECOND,
    }),
    play: (reach, random) => {
      for (const kubelet of kubeletsOf(reach, 1)) kubelet.stop();
      const restarts = reach.processes.map((process) =>
        later(reach, random, [190, 210], () => {
          process.kill();
          process.start();
        }),
      );
      return () => {
        for (const hasten of restarts) hasten();
      };
    },
  },

  /** The only process dies while a slow API still has its last taint under way. */
  taintsUnderWay: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 6, 9), swarm), zone(2, between(random, 3, 4), swarm)],
      processes: [[...SIMULATED_SERVICES]],
      profile: { ...swarm.profile, evictionMode: "taint", nodeEvictionsPerSecond: oneOf(random, [0.05, 0.1]) },
      faults: only(swarm, BYSTANDERS),
      hindrance: { watchLagMs: 0 },
      safetyMs: between(random, 150, 190) * SECOND,
    }),
    play: (reach, random) => {
      const ends = reach.processes.map(({ apiPath }) => {
        apiPath.shareBefore = 1;
        return apiPath.slow({ patch: LATENCY_MAX_MS });
      });
      for (const kubelet of kubeletsOf(reach, 1)) kubelet.stop();
      const stopDying = dyingAgain(reach, random, { livesSeconds: [6, 24], deadSeconds: [0, 1] });
      return () => {
        stopDying();
        for (const end of ends) end();
      };
    },
  },
} satisfies Record<string, Plot>;
