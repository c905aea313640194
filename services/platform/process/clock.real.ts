/**
 * Time as the machine has it. Together with random.ts and main.ts the only place that touches the machine's clocks and
 * timers.
 */
import type { Clock, Timer } from "../../../protocols/ports.ts";

/** The longest delay Node accepts in one timer, in milliseconds; it fires longer ones at once. */
const NODE_TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * The machine's clock. Node rounds timers to its own milliseconds and may fire up to one early, so a timer that comes
 * too soon waits for the rest. `soon` runs after the sockets were read, so that a flood of messages cannot keep
 * pings and timers waiting.
 */
export function realClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    after: (delayMs, fire) => new RealTimer(performance.now() + delayMs, fire),
    soon: (run) => {
      setImmediate(run);
    },
  };
}

class RealTimer implements Timer {
  readonly #dueMs: number;
  readonly #fire: () => void;
  #handle: NodeJS.Timeout;

  constructor(dueMs: number, fire: () => void) {
    this.#dueMs = dueMs;
    this.#fire = fire;
    this.#handle = this.#arm();
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  #arm(): NodeJS.Timeout {
    const restMs = Math.ceil(this.#dueMs - performance.now());
    return setTimeout(() => this.#wake(), Math.min(Math.max(restMs, 0), NODE_TIMER_MS_MAX));
  }

  #wake(): void {
    if (performance.now() < this.#dueMs) this.#handle = this.#arm();
    else this.#fire();
  }
}
