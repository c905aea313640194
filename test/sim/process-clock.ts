/** The clocks of one simulated process: they drift and step beside the world's, and stop for good when it is killed. */
import type { Clock, Timer } from "../../protocols/ports.ts";

/** The shortest pause, in milliseconds: a shorter one would vanish when it is added to the world's time. */
const RESOLUTION_MS = 0.001;

/** A process's view of time. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #rate: number;
  readonly #bornMs: number;
  #wallOffsetMs: number;
  #dead = false;

  /**
   * `rate` is how many of its own milliseconds pass in one of the world's; `wallOffsetMs` how far its wall clock is
   * ahead.
   */
  constructor(world: Clock, { rate = 1, wallOffsetMs = 0 }: { rate?: number; wallOffsetMs?: number } = {}) {
    this.#world = world;
    this.#rate = rate;
    this.#bornMs = world.monotonicMs();
    this.#wallOffsetMs = wallOffsetMs;
  }

  monotonicMs(): number {
    return (this.#world.monotonicMs() - this.#bornMs) * this.#rate;
  }

  wallMs(): number {
    return this.#world.wallMs() + this.#wallOffsetMs;
  }

  after(delayMs: number, fire: () => void): Timer {
    return this.#world.after(delayMs <= 0 ? 0 : Math.max(delayMs / this.#rate, RESOLUTION_MS), () => {
      if (!this.#dead) fire();
    });
  }

  soon(run: () => void): void {
    this.#world.soon(() => {
      if (!this.#dead) run();
    });
  }

  /** Steps this process's wall clock. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** No timer set on this clock fires any more. */
  kill(): void {
    this.#dead = true;
  }
}
