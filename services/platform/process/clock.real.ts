/** The machine's clocks and timers. */
import type { Clock, Timer } from "../../../protocols/ports.ts";

/** The longest delay Node accepts in one timer, in milliseconds; it fires longer ones at once. */
const NODE_TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * The machine's clock. A timer that Node fires up to a millisecond early waits for the rest. `soon` runs after the
 * sockets were read, so that a flood of messages cannot delay pings and timers.
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
