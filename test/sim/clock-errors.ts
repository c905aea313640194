/** Which clocks of a run are wrong from the beginning. */
import type { Random } from "../../protocols/ports.ts";
import { drawWallError, type WallError } from "./wall-error.ts";

/** A machine with a wall clock. */
interface Machine {
  wallError: WallError;
}

/** The share of the clocks that are wrong. */
const WRONG_SHARE = 0.4;

/** Sets a share of the clocks wrong; in half of the runs only those of kubelets. */
export function setClocksWrong(processes: readonly Machine[], kubelets: readonly Machine[], random: Random): void {
  const machines = random() < 0.5 ? [...processes, ...kubelets] : kubelets;
  for (const machine of machines) {
    const error = drawWallError(random);
    if (random() < WRONG_SHARE) machine.wallError = error;
  }
}
