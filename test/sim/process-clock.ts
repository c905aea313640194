/**
 * The clocks of one simulated process. They drift and step relative to the world's, stop while its machine is
 * suspended, and stop for good when it is killed.
 */
import type { Clock, Stop, Timer } from "../../protocols/ports.ts";

/** The shortest pause, in milliseconds. A shorter one would vanish when it is added to the world's time. */
const RESOLUTION_MS = 0.001;

/** How a process's clocks differ from the world's. */
export interface ClockSkew {
  /** How many of its own milliseconds pass in one of the world's. */
  readonly rate: number;
  /** How far its wall clock is ahead at its start. */
  readonly wallOffsetMs: number;
}

/** The clock of a process. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #wallErrorMs: () => number;
  readonly #skew: ClockSkew;
  readonly #bornMs: number;
  #wallOffsetMs: number;
  /** How long the suspensions that are over lasted. */
  #suspendedMs = 0;
  /** Since when it is suspended; null while it runs. */
  #suspendedAtMs: number | null = null;
  /** Timers that became due while it was suspended. */
  readonly #parked: (() => void)[] = [];
  #dead = false;

  /** `wallErrorMs` is how far its machine's wall clock is ahead now, beside the skew. */
  constructor(world: Clock, skew: ClockSkew, wallErrorMs: () => number = () => 0) {
    this.#world = world;
    this.#wallErrorMs = wallErrorMs;
    this.#skew = skew;
    this.#bornMs = world.monotonicMs();
    this.#wallOffsetMs = skew.wallOffsetMs;
  }

  monotonicMs(): number {
    return (this.#world.monotonicMs() - this.#bornMs - this.suspendedMs) * this.#skew.rate;
  }

  /** How long its monotonic clock has been suspended so far, in the world's milliseconds. */
  get suspendedMs(): number {
    const sinceMs = this.#suspendedAtMs;
    return this.#suspendedMs + (sinceMs === null ? 0 : this.#world.monotonicMs() - sinceMs);
  }

  get isSuspended(): boolean {
    return this.#suspendedAtMs !== null;
  }

  wallMs(): number {
    return this.#world.wallMs() + this.#wallOffsetMs + this.#wallErrorMs();
  }

  after(delayMs: number, fire: () => void): Timer {
    const worldMs = delayMs <= 0 ? 0 : Math.max(delayMs / this.#skew.rate, RESOLUTION_MS);
    const dueMs = this.#world.monotonicMs() + worldMs - this.#suspendedMs;
    const leftMs = (): number => dueMs + this.#suspendedMs - this.#world.monotonicMs();
    let isCancelled = false;
    let armed: Timer;
    const arm = (afterMs: number): void => {
      armed = this.#world.after(afterMs, () => {
        if (this.#dead || isCancelled) return;
        if (this.#suspendedAtMs !== null) this.#parked.push(() => arm(leftMs()));
        else if (leftMs() > RESOLUTION_MS) arm(leftMs());
        else fire();
      });
    };
    arm(worldMs);
    return {
      cancel: () => {
        isCancelled = true;
        armed.cancel();
      },
    };
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

  /**
   * Stops the monotonic clock, as a suspended machine does. The returned function continues it, and timers wait that
   * much longer.
   */
  suspend(): Stop {
    this.#suspendedAtMs ??= this.#world.monotonicMs();
    return () => {
      if (this.#suspendedAtMs === null) return;
      this.#suspendedMs += this.#world.monotonicMs() - this.#suspendedAtMs;
      this.#suspendedAtMs = null;
      for (const arm of this.#parked.splice(0)) arm();
    };
  }

  /** Ends every timer of this clock. */
  kill(): void {
    this.#dead = true;
  }
}
