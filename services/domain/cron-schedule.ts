/**
 * A cron schedule of five fields in a time zone, as a CronJob has it: `0 9 * * 1-5` in `Europe/Berlin`. It reads no
 * clock. When the clocks go forward over a run, the run comes at the end of the gap; when they go back, it comes once.
 * Example: `30 2 * * *` in Europe/Berlin runs at 03:00 on 2026-03-29, when 02:00 becomes 03:00, and once on 2026-10-25,
 * when 02:30 comes twice.
 */
import { Cron } from "croner";
import { dateOf } from "./api-time.ts";

/** Where the search for a run begins that shows that a schedule runs at all: 2024-01-01, epoch milliseconds. */
const SEARCHED_FROM_AT = 1_704_067_200_000;

/** Cached answers: a limit requests about ten runs around the present each second, and they change at the next run. */
const ANSWERS_MAX = 16;

/** A valid schedule that runs at some time. It is parsed for each search, because a parsed one takes 80 KiB. */
export class CronSchedule {
  readonly #schedule: string;
  readonly #timeZone: string | null;
  /** The newest first. From `fromMs` until `runAt` the next run is the same. */
  #answers: readonly { readonly fromMs: number; readonly runAt: number }[] = [];

  /** `timeZone` is an IANA name; null means UTC. Throws a RangeError for what `scheduleProblem` reports. */
  constructor(schedule: string, timeZone: string | null) {
    const problem = scheduleProblem(schedule, timeZone);
    if (problem !== null) throw new RangeError(`${problem.field} ${problem.message}`);
    this.#schedule = schedule;
    this.#timeZone = timeZone;
  }

  /** The first run after an instant, in epoch milliseconds; null when there is none in the years that are searched. */
  nextAfter(wallMs: number): number | null {
    const known = this.#answers.find(({ fromMs, runAt }) => fromMs <= wallMs && wallMs < runAt);
    if (known !== undefined) return known.runAt;
    // Runs are on whole seconds, so the fraction that is cut off changes nothing.
    const runAt = parsed(this.#schedule, this.#timeZone).nextRun(dateOf(wallMs))?.getTime() ?? null;
    if (runAt !== null) this.#answers = [{ fromMs: wallMs, runAt }, ...this.#answers].slice(0, ANSWERS_MAX);
    return runAt;
  }
}

/** Why a schedule is invalid: which of the two values, and a line that shows it and the fix. */
export interface ScheduleProblem {
  readonly field: "schedule" | "timeZone";
  readonly message: string;
}

/** Five fields, or a name such as @daily. Croner reads an instant too, which comes once or is over. */
const CRON = /^\s*(@\w+|\S+(\s+\S+){4})\s*$/;
const FIELDS_FIX = 'write minute, hour, day, month and day of the week, such as "0 9 * * 1-5"';

/** Why a schedule is invalid; null when it is valid. */
export function scheduleProblem(schedule: string, timeZone: string | null): ScheduleProblem | null {
  const shown = JSON.stringify(schedule);
  if (!isTimeZone(timeZone)) {
    return { field: "timeZone", message: `${JSON.stringify(timeZone)}: write a time zone such as Europe/Berlin` };
  }
  // Croner replaces `?` by the present time, so the schedule would depend on when it is read.
  if (schedule.includes("?")) return { field: "schedule", message: `${shown}: write * instead of ?` };
  const invalid = { field: "schedule", message: `${shown}: ${FIELDS_FIX}` } as const;
  if (!CRON.test(schedule)) return invalid;
  try {
    const first = parsed(schedule, timeZone).nextRun(dateOf(SEARCHED_FROM_AT));
    return first === null ? { field: "schedule", message: `${shown}: never runs, no such day exists` } : null;
  } catch {
    return invalid;
  }
}

function isTimeZone(timeZone: string | null): boolean {
  if (timeZone === null) return true;
  try {
    return parsed("0 0 1 1 *", timeZone).nextRun(dateOf(SEARCHED_FROM_AT)) !== null;
  } catch {
    return false;
  }
}

/** Without a time zone nothing of ICU is loaded: each formatter of a zone takes 200 KiB until it is collected. */
function parsed(schedule: string, timeZone: string | null): Cron {
  const zone = timeZone === null ? { utcOffset: 0 } : { timezone: timeZone };
  return new Cron(schedule, { ...zone, mode: "5-part", paused: true });
}
