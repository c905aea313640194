/**
 * Decides how many requests may be in flight at once, from their latency. Pure; instants are monotonic milliseconds.
 */

/** The present limit and what it was learned from. */
export interface Concurrency {
  /** Requests allowed at once. Grows by fractions; the whole part counts. */
  readonly limit: number;
  /**
   * The latency without load, by verb and kind: webhooks make writes slower than reads, and those of pods slower than
   * those of leases.
   */
  readonly unloaded: Readonly<Record<string, UnloadedLatency>>;
  /** Present latency as a share of the target, smoothed; null before the first request. */
  readonly strain: number | null;
  /** When the limit was last halved; after the first time it grows slowly. */
  readonly halvedAtMs: number | null;
}

interface UnloadedLatency {
  readonly latencyMs: number;
  /** When the last request of this likeness ended. */
  readonly learnedAtMs: number;
}

/** How one request went. */
export interface RequestResult {
  /** Its verb and kind, such as `patch Pod`. */
  readonly likeness: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The server answered 429, or not in time. */
  readonly overloaded: boolean;
  /** Whether the limit was reached; otherwise nothing is learned about a higher one. */
  readonly atLimit: boolean;
}

const LIMIT_AT_START = 16;
/** The target latency: a multiple of the unloaded one, plus some milliseconds for the noise of short ones. */
const AIM_FACTOR = 2;
const AIM_SLACK_MS = 10;
/** The most that one answer takes off the limit. */
const STEP_LEAST = -0.5;
const SMOOTHING = 0.1;
/**
 * Requests per second that latency alone never prevents: a server may be slow without being overloaded, behind a
 * webhook or far away. kube-controller-manager sends 20 for each of its controllers by default (`--kube-api-qps`), and
 * Vigil replaces two of them.
 */
const RATE_LEAST_PER_SECOND = 40;
/** How long an overload slows the growth towards that rate, in milliseconds. */
const OVERLOAD_RECENT_MS = 60_000;
/**
 * How fast the unloaded latency rises towards a higher one, per second: a lasting slowdown is accepted within minutes.
 */
const EASY_DRIFT_PER_SECOND = 0.01;

/** The state of a new writer. */
export function concurrencyAtStart(limitMax: number): Concurrency {
  return { limit: Math.min(LIMIT_AT_START, limitMax), unloaded: {}, strain: null, halvedAtMs: null };
}

/** The state after one more request. */
export function concurrencyAfter(known: Concurrency, experience: RequestResult, limitMax: number): Concurrency {
  return experience.overloaded ? halved(known, experience) : followed(known, experience, limitMax);
}

/** Requests sent before the last halving reflect the load that led to it. */
function halved(known: Concurrency, { startedAtMs, endedAtMs }: RequestResult): Concurrency {
  if (known.halvedAtMs !== null && startedAtMs < known.halvedAtMs) return known;
  return { ...known, limit: Math.max(1, Math.floor(known.limit / 2)), halvedAtMs: endedAtMs };
}

/**
 * Requests beyond the server's capacity only queue there, where nothing urgent can overtake them. So the limit follows
 * latency: up by one for each answer while that is short, less near the target, and down beyond it. Latency alone takes
 * it neither below its start nor below what sustains the least rate.
 */
function followed(known: Concurrency, experience: RequestResult, limitMax: number): Concurrency {
  const { likeness, startedAtMs, endedAtMs, atLimit } = experience;
  const tookMs = endedAtMs - startedAtMs;
  const latencyMs = Math.min(tookMs, drifted(known.unloaded[likeness], endedAtMs));
  const share = tookMs / (latencyMs * AIM_FACTOR + AIM_SLACK_MS);
  const strain = known.strain === null ? share : known.strain + (share - known.strain) * SMOOTHING;
  const unloaded = { ...known.unloaded, [likeness]: { latencyMs, learnedAtMs: endedAtMs } };
  if (!atLimit) return { ...known, unloaded, strain };
  const stepMost = known.halvedAtMs === null ? 1 : 1 / known.limit;
  const isBelowLeastRate = known.limit < (RATE_LEAST_PER_SECOND * tookMs) / 1000;
  const step = isBelowLeastRate
    ? stepToLeastRate(known, endedAtMs)
    : Math.max(STEP_LEAST, Math.min(stepMost, 1 / strain - 1));
  const limit = known.limit + step;
  const limitLeast = Math.min(known.limit, LIMIT_AT_START);
  return { ...known, unloaded, strain, limit: Math.min(limitMax, Math.max(limitLeast, limit)) };
}

function stepToLeastRate({ limit, halvedAtMs }: Concurrency, nowMs: number): number {
  return halvedAtMs !== null && nowMs - halvedAtMs < OVERLOAD_RECENT_MS ? 1 / limit : 1;
}

function drifted(easy: UnloadedLatency | undefined, nowMs: number): number {
  if (easy === undefined) return Number.POSITIVE_INFINITY;
  return easy.latencyMs * (1 + (EASY_DRIFT_PER_SECOND * (nowMs - easy.learnedAtMs)) / 1000);
}
