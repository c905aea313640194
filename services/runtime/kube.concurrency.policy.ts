/**
 * Decides how many requests may be under way at once, from how the server bears them. Pure; instants are monotonic
 * milliseconds.
 */

/** What is known of how much the server bears. */
export interface Concurrency {
  /** Requests allowed at once; grows by fractions, its whole part counts. */
  readonly limit: number;
  /** How long a request takes when the server is at ease; null before the first. */
  readonly easyMs: number | null;
  /** How long requests take now, smoothed. */
  readonly recentMs: number;
  /** When the last request ended. */
  readonly learnedAtMs: number;
  /** When the limit was halved last; from the first time on it grows slowly. */
  readonly halvedAtMs: number | null;
}

/** How one request went. */
export interface Experience {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The server asked for less (429), or did not answer in time. */
  readonly overloaded: boolean;
  /** Whether all that was allowed was under way; otherwise nothing is learned about a higher limit. */
  readonly atLimit: boolean;
}

const LIMIT_AT_START = 16;
/** Latency is flat while it is under so many times the easy one, and this much on top for the noise of short ones. */
const FLAT_FACTOR = 2;
const FLAT_SLACK_MS = 10;
const SMOOTHING = 0.1;
/**
 * How fast the easy latency gives way to a higher one, per second: a server that has become slower for good is accepted
 * within minutes.
 */
const EASY_DRIFT_PER_SECOND = 0.01;

/** Where to start. */
export function concurrencyAtStart(limitMax: number): Concurrency {
  return { limit: Math.min(LIMIT_AT_START, limitMax), easyMs: null, recentMs: 0, learnedAtMs: 0, halvedAtMs: null };
}

/** What is known after one more request. */
export function concurrencyAfter(known: Concurrency, experience: Experience, limitMax: number): Concurrency {
  return experience.overloaded ? halved(known, experience) : grown(known, experience, limitMax);
}

/** Requests sent before the last halving tell of the load that led to it, not of the present one. */
function halved(known: Concurrency, { startedAtMs, endedAtMs }: Experience): Concurrency {
  if (known.halvedAtMs !== null && startedAtMs < known.halvedAtMs) return known;
  return { ...known, limit: Math.max(1, Math.floor(known.limit / 2)), halvedAtMs: endedAtMs };
}

function grown(known: Concurrency, { startedAtMs, endedAtMs, atLimit }: Experience, limitMax: number): Concurrency {
  const tookMs = endedAtMs - startedAtMs;
  const easyMs =
    known.easyMs === null ? tookMs : Math.min(tookMs, drifted(known.easyMs, endedAtMs - known.learnedAtMs));
  const recentMs = known.easyMs === null ? tookMs : known.recentMs + (tookMs - known.recentMs) * SMOOTHING;
  const flat = recentMs <= easyMs * FLAT_FACTOR + FLAT_SLACK_MS;
  const step = known.halvedAtMs === null ? 1 : 1 / known.limit;
  const limit = atLimit && flat ? Math.min(limitMax, known.limit + step) : known.limit;
  return { ...known, limit, easyMs, recentMs, learnedAtMs: endedAtMs };
}

function drifted(easyMs: number, elapsedMs: number): number {
  return easyMs * (1 + (EASY_DRIFT_PER_SECOND * elapsedMs) / 1000);
}
