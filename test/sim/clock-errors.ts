/** Which clocks of a run are wrong from the beginning, and how far those of the processes have been apart. */
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

/** Follows the errors of the processes' wall clocks. */
export class ClockErrors {
  readonly #processes: readonly { readonly wallErrorMs: number }[];
  /** The clock of the API server is right. */
  #leastMs = 0;
  #mostMs = 0;

  constructor(processes: readonly { readonly wallErrorMs: number }[]) {
    this.#processes = processes;
  }

  /** How far two clocks, of processes or of the API server, have been apart so far, in milliseconds. */
  get spreadMs(): number {
    this.look();
    return this.#mostMs - this.#leastMs;
  }

  /** Takes the errors of this moment. */
  look(): void {
    for (const { wallErrorMs } of this.#processes) {
      this.#leastMs = Math.min(this.#leastMs, wallErrorMs);
      this.#mostMs = Math.max(this.#mostMs, wallErrorMs);
    }
  }
}
