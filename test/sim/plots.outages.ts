/** Plots about outages while countdowns run, and about the memory of them. */
import { between } from "./chance.ts";
import { later } from "./meddler.ts";
import { BYSTANDERS, kubeletsOf, only, type Plot, SECOND, zone } from "./plots.stage.ts";

/** How many nodes fall silent before the outage. */
const SILENT = 3;

/** The plots by name. */
export const OUTAGE_PLOTS = {
  /**
   * Nodes stop sending heartbeats, the API server stops while their pods count down, and some nodes recover meanwhile.
   * After its return every process of Vigil is killed and started, twice: Vigil must remember the outage.
   */
  outageAndRestarts: {
    latest: "staleServers",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 6, 9), swarm), zone(2, between(random, 3, 4), swarm)],
      podsPerNode: 4,
      toleration: "short",
      processes: swarm.processes.slice(0, 2),
      profile: { ...swarm.profile, evictionMode: "taint", nodeEvictionsPerSecond: 1 },
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 300, 360) * SECOND,
    }),
    play: (reach, random) => {
      const { world, processes, count } = reach;
      const silent = kubeletsOf(reach, 1).slice(0, SILENT);
      for (const kubelet of silent) kubelet.stop();
      const awayAt = world.swarm.profile.nodeMonitorGraceMs / SECOND + between(random, 6, 15);
      const backAt = awayAt + between(random, 30, 130);
      const at = (seconds: number, act: () => void) => later(reach, random, [seconds, seconds], act);
      let serve = (): void => {};
      const first = backAt + between(random, 3, 40);
      const restarts = [first, first + between(random, 12, 40)].flatMap((seconds) => [
        at(seconds, () => {
          count("outage followed by a restart");
          for (const process of processes) process.kill();
        }),
        at(seconds + between(random, 1, 8), () => {
          for (const process of processes) process.start();
        }),
      ]);
      const hastened = [
        at(awayAt, () => {
          serve = world.apiAway();
        }),
        at(backAt, () => serve()),
        ...silent.slice(1).map((kubelet) => later(reach, random, [awayAt, backAt], () => kubelet.start())),
        ...restarts,
      ];
      return () => {
        for (const hasten of hastened) hasten();
        serve();
      };
    },
  },

  /** Nodes renew their leases again long before they post a status: their API path loses what is large. */
  lateStatuses: {
    latest: "staleServers",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 5, 8), swarm), zone(2, between(random, 3, 4), swarm)],
      podsPerNode: 4,
      toleration: "short",
      processes: swarm.processes.slice(0, 2),
      profile: { ...swarm.profile, evictionMode: "taint", nodeEvictionsPerSecond: 1 },
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 180, 240) * SECOND,
    }),
    play: (reach, random) => {
      const graceSeconds = reach.world.swarm.profile.nodeMonitorGraceMs / SECOND;
      const hastened = kubeletsOf(reach, 1)
        .slice(0, 2)
        .flatMap((kubelet) => {
          const backAt = graceSeconds + between(random, 3, 40);
          kubelet.stop();
          kubelet.isStatusLost = true;
          const restore = (): void => {
            kubelet.isStatusLost = false;
          };
          return [
            later(reach, random, [backAt, backAt], () => kubelet.start()),
            later(reach, random, [backAt + 30, backAt + 90], restore),
          ];
        });
      return () => {
        for (const hasten of hastened) hasten();
      };
    },
  },
} satisfies Readonly<Record<string, Plot>>;
