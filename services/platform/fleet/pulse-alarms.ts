/** Counts refused pulses by reason and logs the first of each period. */
import type { Clock, Log, Metrics } from "../../../protocols/ports.ts";
import { limitedLog } from "../process/log.limited.ts";

/** The log lines of a period: enough to name several members, and to repeat while the problem lasts. */
const LINES = { linesMax: 5, periodMs: 60_000 };

/** Why a pulse is refused, and what to do about it. */
const PROBLEMS = {
  full: "more processes pulse than --fleet-members-max allows: raise it, or find who holds a NATS seed",
  "duplicate-name":
    "two processes pulse under one name: give each a --member of its own, or find who holds a NATS seed",
  "own-name":
    "another process pulses under this one's name: give each a --member of its own, or find who holds a NATS seed",
  "after-goodbye": "a member pulses after a goodbye in its name: find who holds a NATS seed",
  "foreign-cluster":
    "a pulse under the name of a member of ours names another Kubernetes cluster: give each process a --member of its " +
    "own, or find who holds a NATS seed",
} as const;

/** The log message of each reason. */
export const PULSE_PROBLEMS: readonly string[] = Object.values(PROBLEMS);

/** Why a pulse is refused, as the metric's label `reason`. */
export type RefusedPulse = keyof typeof PROBLEMS;

/** The alarms of one member. */
export class PulseAlarms {
  readonly #log: Log;
  readonly #refused: ReturnType<Metrics["counter"]>;

  constructor({ log, clock, metrics }: { readonly log: Log; readonly clock: Clock; readonly metrics: Metrics }) {
    this.#log = limitedLog(log, clock, LINES);
    const help = "Pulses refused, by reason.";
    this.#refused = metrics.counter({ name: "vigil_fleet_pulses_refused_total", help, labels: ["reason"] });
    for (const reason of Object.keys(PROBLEMS)) this.#refused.add(0, reason);
  }

  /** Counts a refused pulse, and logs it within the limit. */
  raise(reason: RefusedPulse, member: string): void {
    this.#refused.add(1, reason);
    this.#log.error(PROBLEMS[reason], { member });
  }

  /** Logs a problem that is counted elsewhere. */
  report(problem: string): void {
    this.#log.error(problem);
  }
}
