/** Faults of Vigil's own processes: crashes and wrong clocks. */
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler } from "../meddler.ts";

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
  clockSteps: {
    everySeconds: 60,
    act: ({ processes }, random) => {
      oneOf(random, processes).clock?.stepWall(between(random, -5_000, 5_000));
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;
