/** How far the wall clock of a machine is off, and how it drifts. It moves no timer. */
import type { Clock, Random } from "../../protocols/ports.ts";
import { between } from "./chance.ts";

/** How far a wall clock may be off, in milliseconds. */
const WALL_ERROR_MAX_MS = 600_000;
/** How many milliseconds a wall clock gains or loses in one. */
const DRIFT_MAX = 0.01;

/** How far a wall clock is off, and how much it gains in a millisecond. */
export interface WallError {
  readonly offsetMs: number;
  readonly drift: number;
}

/** A right clock. */
export const NO_WALL_ERROR: WallError = { offsetMs: 0, drift: 0 };

/** The error of a clock. */
export function drawWallError(random: Random): WallError {
  const offsetMs = between(random, -WALL_ERROR_MAX_MS, WALL_ERROR_MAX_MS);
  return { offsetMs, drift: (2 * random() - 1) * DRIFT_MAX };
}

/** How far a wrong clock is ahead now, in milliseconds. */
export function wallErrorAt({ offsetMs, drift }: WallError, world: Clock): number {
  return offsetMs + drift * world.monotonicMs();
}

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
