/**
 * Carries asks out: one under way per key, the newest wins, and each is tried again until it is done or moot. How to
 * try is given.
 */
import { TEXT_CHARACTERS_MAX } from "../../../protocols/bounds.ts";
import type { Outcome } from "../../../protocols/done.ts";
import type { Clock, Random, Timer } from "../../../protocols/ports.ts";
import { retryPauseMs } from "../structures/retry-schedule.ts";

/** How one try ended. */
export interface TryResult {
  readonly outcome: Outcome;
  /** What was, or would have been, written. */
  readonly change: string;
  readonly detail: string;
  readonly resourceVersion: string | null;
  /** The server's own wish for a pause, after throttling. */
  readonly retryAfterMs?: number;
  /** Whether only the asker may repeat this try; a first conflict is tried again all the same. */
  readonly isOnce?: boolean;
  /** How long after its ask a failure is tried again, always if not given; later only the asker may repeat it. */
  readonly retriedForMs?: number;
  /** Whether nothing failed: what it rests on was too old when its turn came. */
  readonly isLate?: boolean;
}

/** How the tries of an ask have ended so far. */
export interface TryHistory {
  /** After a failure the object must be read again: what was known of it may be wrong. */
  readonly failures: number;
  /** Those of the failures that were conflicts. */
  readonly conflicts: number;
  /** Tries that were late. */
  readonly lates: number;
  /** When the first of the failures was reported, on the monotonic clock; null before it. */
  readonly failingSinceMs: number | null;
}

/** When a try ended and when the next one comes. */
export interface TryTiming {
  /** From the ask's arrival to the end of this try. */
  readonly latencyMs: number;
  readonly retrying: boolean;
  /** When it is tried again, in epoch milliseconds on the wall clock; absent when it is not. */
  readonly retryAt?: number;
}

/** What the jobs need. */
export interface WriteJobsOptions<A> {
  readonly clock: Clock;
  readonly random: Random;
  /** Longest pause between two tries, in milliseconds. */
  readonly retryMaxMs: number;
  /** Whether a denied ask is tried again too, because a webhook or a role may change its mind. */
  readonly retriesDenied?: boolean;
  /** Whether an ask wants no more than an earlier one did: when that is done, so is this. Else each is tried. */
  readonly isRepeated?: (ask: A, earlier: A) => boolean;
  /** Whether two asks want the same thing: then the later one waits out the pause that the server has asked for. */
  readonly isSame?: (ask: A, earlier: A) => boolean;
  /**
   * Tries an ask and reports exactly once. `newest` gives the ask that stands now, which may have come while the try
   * was under way.
   */
  readonly attempt: (ask: A, history: TryHistory, report: (result: TryResult) => void, newest: () => A) => void;
  /** Told of the end of every try. */
  readonly reportOutcome: (ask: A, result: TryResult, timing: TryTiming) => void;
}

interface WriteJob<A> {
  ask: A;
  askedMs: number;
  history: TryHistory;
  /** A newer ask that came while a try was under way. */
  next: A | null;
  isTrying: boolean;
  timer: Timer | null;
  /** Until when the server wants to be left alone with this. */
  quietUntilMs: number;
}

/**
 * Outcomes after which another try may succeed. After any other the ask is done or moot, or only its asker may repeat
 * it.
 */
const RETRIED: ReadonlySet<Outcome> = new Set<Outcome>(["conflict", "throttled", "failed", "unknown"]);
/** Outcomes after which the state asked for is there. */
const DONE: ReadonlySet<Outcome> = new Set<Outcome>(["ok", "gone"]);
const UNTRIED: TryHistory = { failures: 0, conflicts: 0, lates: 0, failingSinceMs: null };
/** First ceiling of the pause between tries, in milliseconds. */
const RETRY_BASE_MS = 200;

/** The asks of one writer that are not settled yet. */
export class WriteJobs<A> {
  readonly #options: WriteJobsOptions<A>;
  readonly #jobs = new Map<string, WriteJob<A>>();

  constructor(options: WriteJobsOptions<A>) {
    this.#options = options;
  }

  get size(): number {
    return this.#jobs.size;
  }

  /**
   * Takes an ask. It is tried at once, in the place of an older one that waits, or after a try that is under way; one
   * for the same thing as before waits as long as the server has asked for.
   */
  ask(key: string, ask: A): void {
    const known = this.#jobs.get(key);
    if (known?.isTrying === true) {
      known.next = ask;
      return;
    }
    const askedMs = this.#options.clock.monotonicMs();
    if (known !== undefined && askedMs < known.quietUntilMs && this.#options.isSame?.(ask, known.ask) === true) {
      known.ask = ask;
      known.askedMs = askedMs;
      return;
    }
    known?.timer?.cancel();
    const history = known?.history ?? UNTRIED;
    const job = { ask, askedMs, history, next: null, isTrying: false, timer: null, quietUntilMs: askedMs };
    this.#jobs.set(key, job);
    this.#try(key, job);
  }

  /** Forgets the asks under these keys; a try that is under way is still told, and not repeated. */
  drop(isDropped: (key: string) => boolean): void {
    for (const [key, job] of this.#jobs) {
      if (!isDropped(key)) continue;
      job.timer?.cancel();
      this.#jobs.delete(key);
    }
  }

  #try(key: string, job: WriteJob<A>): void {
    job.isTrying = true;
    job.timer = null;
    const report = (result: TryResult): void => {
      if (this.#jobs.get(key) === job) this.#settle(key, job, result);
      else this.#report(job, result, null);
    };
    this.#options.attempt(job.ask, job.history, report, () => job.next ?? job.ask);
  }

  #settle(key: string, job: WriteJob<A>, result: TryResult): void {
    const { clock } = this.#options;
    const next = this.#isDone(job, result) ? null : job.next;
    const history = historyAfter(job.history, result, clock.monotonicMs());
    const pauseMs = this.#retryPauseMs(job, history, result);
    job.isTrying = false;
    this.#report(job, result, next === null ? pauseMs : null);
    job.history = pauseMs === null ? UNTRIED : history;
    if (next !== null) {
      job.next = null;
      job.ask = next;
      job.askedMs = clock.monotonicMs();
    } else if (pauseMs === null) {
      this.#jobs.delete(key);
      return;
    }
    job.quietUntilMs = clock.monotonicMs() + (result.retryAfterMs ?? 0);
    job.timer = clock.after(pauseMs ?? 0, () => this.#try(key, job));
  }

  #report({ ask, askedMs }: WriteJob<A>, result: TryResult, pauseMs: number | null): void {
    const { clock, reportOutcome } = this.#options;
    // An API server quotes whole objects in its refusals, and a message holds only so much.
    const change = result.change.slice(0, TEXT_CHARACTERS_MAX);
    const detail = result.detail.slice(0, TEXT_CHARACTERS_MAX);
    const latencyMs = clock.monotonicMs() - askedMs;
    const next = pauseMs === null ? {} : { retryAt: clock.wallMs() + pauseMs };
    reportOutcome(ask, { ...result, change, detail }, { latencyMs, retrying: pauseMs !== null, ...next });
  }

  /** Whether the ask that came meanwhile was carried out with the one that was tried. */
  #isDone({ ask, next }: WriteJob<A>, { outcome }: TryResult): boolean {
    return next !== null && DONE.has(outcome) && this.#options.isRepeated?.(next, ask) === true;
  }

  /** The pause before another try; null when there is to be none. */
  #retryPauseMs(job: WriteJob<A>, history: TryHistory, result: TryResult): number | null {
    const { outcome, isOnce = false, retriedForMs = Number.POSITIVE_INFINITY } = result;
    if (isOnce && (outcome !== "conflict" || job.history.failures > 0)) return null;
    if (!RETRIED.has(outcome) && (outcome !== "denied" || this.#options.retriesDenied !== true)) return null;
    const pauseMs = this.#pauseMs(history, result);
    const againMs = this.#options.clock.monotonicMs() + pauseMs;
    return againMs - job.askedMs > retriedForMs ? null : pauseMs;
  }

  /** A first conflict only says that the object moved on: reading it anew is worth no wait. */
  #pauseMs({ failures, lates }: TryHistory, { outcome, retryAfterMs = 0 }: TryResult): number {
    const { random, retryMaxMs } = this.#options;
    if (outcome === "conflict" && failures === 1) return 0;
    return retryAfterMs + retryPauseMs(failures + lates, { baseMs: RETRY_BASE_MS, maxMs: retryMaxMs, random });
  }
}

/** A late try has not failed, but it lengthens the pause: reads that come to nothing only add to what made it late. */
function historyAfter(before: TryHistory, { outcome, isLate }: TryResult, nowMs: number): TryHistory {
  if (isLate === true) return { ...before, lates: before.lates + 1 };
  const conflicts = before.conflicts + (outcome === "conflict" ? 1 : 0);
  return { ...before, failures: before.failures + 1, conflicts, failingSinceMs: before.failingSinceMs ?? nowMs };
}
