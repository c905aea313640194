/** Faults of Vigil's own processes: crashes, rollouts, stops, and wrong clocks, which kubelets have too. */
import { between, oneOf } from "../chance.ts";
import { lasting, lastingFor, type Meddler, type Reach } from "../meddler.ts";
import { drawWallError, NO_WALL_ERROR } from "../wall-error.ts";

/** Stops last from a second to ten minutes, half of them under 25 s; in a long run at least a minute. */
const STOP_MAX_SECONDS = 600;
const LONG_RUN_MS = 600_000;

/** The classes, by name. */
export const PROCESS_FAULTS = {
  crashes: {
    everySeconds: 60,
    act: (reach, random) => {
      const process = oneOf(random, reach.processes);
      process.kill();
      return lasting(reach, random, 40, () => process.start());
    },
  },
  rollouts: {
    everySeconds: 60,
    act: (reach, random) => {
      const process = oneOf(random, reach.processes);
      reach.count("process ended as by a rollout");
      let isDue = false;
      process.end(() => {
        if (isDue) process.start();
      });
      return lasting(reach, random, 40, () => {
        isDue = true;
        process.start();
      });
    },
  },
  clockSteps: {
    everySeconds: 60,
    act: ({ processes }, random) => {
      oneOf(random, processes).clock?.stepWall(between(random, -5_000, 5_000));
      return undefined;
    },
  },
  standstills: {
    everySeconds: 50,
    act: (reach, random) => {
      const process = oneOf(random, reach.processes);
      const leastSeconds = reach.world.swarm.safetyMs > LONG_RUN_MS ? 60 : 1;
      const seconds = Math.round(leastSeconds * (STOP_MAX_SECONDS / leastSeconds) ** random());
      const clockStops = random() < 0.25;
      const peersWaitMs = oneOf(random, [Number.POSITIVE_INFINITY, between(random, 5, 60) * 1000]);
      const fallsBehind = clockStops && reach.world.swarm.faults.has("wrongClocks");
      const resume = process.suspend({ clockStops, fallsBehind, peersWaitMs });
      return resume === null ? undefined : lastingFor(reach, seconds, resume);
    },
  },
  wrongClocks: {
    everySeconds: 40,
    act: (reach, random) => {
      const [error, isRepaired] = [drawWallError(random), random() < 0.5];
      const set = random() < 0.3 ? oneOf(random, reach.processes) : reach.world.anyKubelet(random);
      reach.count(reach.processes.some((process) => process === set) ? "process's clock set" : "kubelet's clock set");
      set.wallError = error;
      return isRepaired ? () => repair(reach) : undefined;
    },
  },
} satisfies Record<string, Meddler>;

/** Sets every clock right. */
function repair({ processes, world }: Reach): void {
  for (const clock of [...processes, ...world.kubelets.values()]) clock.wallError = NO_WALL_ERROR;
}
