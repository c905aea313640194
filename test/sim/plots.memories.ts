/** Plots about what Vigil remembers without policies: processes die as a memory is written, and as it is read. */
import type { Random } from "../../protocols/ports.ts";
import { between } from "./chance.ts";
import { later } from "./meddler.ts";
import { restartTwice } from "./memories.ts";
import { taint, untaint } from "./plots.changes.ts";
import { BYSTANDERS, kubeletsOf, only, type Plot, SECOND, zone } from "./plots.stage.ts";
import type { Swarm } from "./swarm.ts";

/** Three quarters of the seeds have another plot, and it needs several seeds to lose a memory. */
const SHARE = 0.3;
/** How many nodes fall silent before an outage. */
const SILENT = 3;

function calmZones(swarm: Swarm, random: Random): Swarm {
  return {
    ...swarm,
    zones: [zone(1, between(random, 6, 9), swarm), zone(2, between(random, 3, 4), swarm)],
    podsPerNode: 4,
    processes: swarm.processes.slice(0, 2),
    profile: { ...swarm.profile, evictionMode: "taint", nodeEvictionsPerSecond: 1 },
    faults: only(swarm, BYSTANDERS),
  };
}

/** The plots by name. */
export const MEMORY_PLOTS = {
  /**
   * Pods count down while the API server is away. Processes die when the outage is written down, and when it is read.
   */
  outageMemory: {
    latest: "moments",
    share: SHARE,
    stage: (swarm, random) => ({
      ...calmZones(swarm, random),
      toleration: "short",
      safetyMs: between(random, 260, 320) * SECOND,
    }),
    play: (reach, random) => {
      const { world } = reach;
      const silent = kubeletsOf(reach, 1).slice(0, SILENT);
      for (const kubelet of silent) kubelet.stop();
      const awayAt = world.swarm.profile.nodeMonitorGraceMs / SECOND + between(random, 6, 15);
      const backAt = awayAt + between(random, 30, 100);
      let serve = (): void => {};
      const hastened = [
        later(reach, random, [awayAt, awayAt], () => {
          serve = world.apiAway();
        }),
        later(reach, random, [backAt, backAt], () => serve()),
        ...silent.slice(1).map((kubelet) => later(reach, random, [awayAt, backAt + 60], () => kubelet.start())),
      ];
      const stopRestarts = restartTwice(reach, random, "outages");
      return () => {
        for (const hasten of hastened) hasten();
        serve();
        stopRestarts();
      };
    },
  },

  /**
   * People add taints without a stamp. Processes die when it is recorded since when they count, and when it is read.
   */
  recordedStarts: {
    latest: "moments",
    share: SHARE,
    stage: (swarm, random) => ({
      ...calmZones(swarm, random),
      toleration: "maintenance",
      safetyMs: between(random, 150, 190) * SECOND,
    }),
    play: (reach, random) => {
      const names = kubeletsOf(reach, 1).map(({ name }) => name);
      const rounds = [0, 80].flatMap((from) =>
        names.map((name) => later(reach, random, [from + 2, from + 20], () => taint(reach, name, null))),
      );
      const clears = names.map((name) => later(reach, random, [75, 75], () => untaint(reach, name)));
      const stops = [restartTwice(reach, random, "records")];
      const again = later(reach, random, [76, 76], () => stops.push(restartTwice(reach, random, "records")));
      return () => {
        for (const hasten of [...rounds, ...clears, again]) hasten();
        for (const name of names) untaint(reach, name);
        for (const stop of stops) stop();
      };
    },
  },
} satisfies Readonly<Record<string, Plot>>;
