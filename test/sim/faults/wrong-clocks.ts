/** Wall clocks that are minutes off and drift: of Vigil's processes and of kubelets. */
import { oneOf } from "../chance.ts";
import type { Meddler, Reach } from "../meddler.ts";
import { drawWallError, NO_WALL_ERROR } from "../wall-error.ts";

/** The classes, by name. */
export const WRONG_CLOCK_FAULTS = {
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
