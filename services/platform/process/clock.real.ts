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
    after: (delayMs, fire) => realTimer(performance.now() + delayMs, fire),
    soon: (run) => {
      setImmediate(run);
    },
  };
}

function realTimer(dueMs: number, fire: () => void): Timer {
  let handle: NodeJS.Timeout;
  const arm = (): void => {
    const restMs = Math.ceil(dueMs - performance.now());
    handle = setTimeout(wake, Math.min(Math.max(restMs, 0), NODE_TIMER_MS_MAX));
  };
  const wake = (): void => (performance.now() < dueMs ? arm() : fire());
  arm();
  return { cancel: () => clearTimeout(handle) };
}
