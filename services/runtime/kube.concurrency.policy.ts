/** Decides how many requests may be under way at once, from how the server bears them. Pure; instants are monotonic milliseconds. */

/** What is known of how much the server bears. */
export interface Concurrency {
  /** Requests allowed at once; grows by fractions, its whole part counts. */
  readonly limit: number;
  /** How long a request takes when the server is at ease; 0 before the first. */
  readonly easyMs: number;
  /** How long requests take now, smoothed. */
  readonly recentMs: number;
  /** Whether the server has ever been found overloaded: from then on the limit grows slowly. */
  readonly cautious: boolean;
  /** When the limit was halved last. */
  readonly halvedAtMs: number;
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
/** The easy latency follows a lasting rise slowly, so that a server that has become slower is not held back for ever. */
const EASY_DRIFT = 0.005;

/** Where to start. */
export function concurrencyAtStart(limitMax: number): Concurrency {
  const limit = Math.min(LIMIT_AT_START, limitMax);
  return { limit, easyMs: 0, recentMs: 0, cautious: false, halvedAtMs: Number.NEGATIVE_INFINITY };
}

/** What is known after one more request. */
export function concurrencyAfter(known: Concurrency, experience: Experience, limitMax: number): Concurrency {
  const { startedAtMs, endedAtMs } = experience;
  if (experience.overloaded) {
    // Requests sent before the last halving tell of the load that led to it, not of the present one.
    if (startedAtMs < known.halvedAtMs) return known;
    return { ...known, limit: Math.max(1, Math.floor(known.limit / 2)), cautious: true, halvedAtMs: endedAtMs };
  }
  const tookMs = endedAtMs - startedAtMs;
  const first = known.easyMs === 0 && known.recentMs === 0;
  const easyMs = first || tookMs < known.easyMs ? tookMs : known.easyMs + (tookMs - known.easyMs) * EASY_DRIFT;
  const recentMs = first ? tookMs : known.recentMs + (tookMs - known.recentMs) * SMOOTHING;
  const flat = recentMs <= easyMs * FLAT_FACTOR + FLAT_SLACK_MS;
  const growth = !experience.atLimit || !flat ? 0 : known.cautious ? 1 / known.limit : 1;
  return { ...known, easyMs, recentMs, limit: Math.min(limitMax, known.limit + growth) };
}
