/**
 * Decides how many requests may be under way at once, from how the server bears them. Pure; instants are monotonic
 * milliseconds.
 */

/** What is known of how much the server bears. */
export interface Concurrency {
  /** Requests allowed at once; grows by fractions, its whole part counts. */
  readonly limit: number;
  /** How long a request takes when the server is at ease, by HTTP method: reads may be quick where writes are not. */
  readonly unloaded: Readonly<Record<string, UnloadedLatency>>;
  /** How long requests take now, as a share of what is aimed at, smoothed; null before the first. */
  readonly strain: number | null;
  /** When the limit was halved last; from the first time on it grows slowly. */
  readonly halvedAtMs: number | null;
}

interface UnloadedLatency {
  readonly latencyMs: number;
  /** When the last request of this method ended. */
  readonly learnedAtMs: number;
}

/** How one request went. */
export interface RequestResult {
  readonly method: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The server asked for less (429), or did not answer in time. */
  readonly overloaded: boolean;
  /** Whether all that was allowed was under way; otherwise nothing is learned about a higher limit. */
  readonly atLimit: boolean;
}

const LIMIT_AT_START = 16;
/** The latency aimed at: a multiple of the easy one, and some milliseconds for the noise of short ones. */
const AIM_FACTOR = 2;
const AIM_SLACK_MS = 10;
/** The most that one answer takes off the limit; a whole round of answers so halves it at most. */
const STEP_LEAST = -0.5;
const SMOOTHING = 0.1;
/**
 * Requests per second that latency alone never prevents: a server may take seconds for each request without being
 * overloaded, behind a slow webhook or a long way off. kube-controller-manager sends 20 for each of its controllers by
 * default (`--kube-api-qps`), and Vigil stands in for two of them.
 */
const RATE_LEAST_PER_SECOND = 40;
/** How long an overload holds back the growth towards that rate, in milliseconds. */
const OVERLOAD_RECENT_MS = 60_000;
/**
 * How fast the easy latency gives way to a higher one, per second: a server that has become slower for good is accepted
 * within minutes.
 */
const EASY_DRIFT_PER_SECOND = 0.01;

/** Where to start. */
export function concurrencyAtStart(limitMax: number): Concurrency {
  return { limit: Math.min(LIMIT_AT_START, limitMax), unloaded: {}, strain: null, halvedAtMs: null };
}

/** What is known after one more request. */
export function concurrencyAfter(known: Concurrency, experience: RequestResult, limitMax: number): Concurrency {
  return experience.overloaded ? halved(known, experience) : followed(known, experience, limitMax);
}

/** Requests sent before the last halving tell of the load that led to it, not of the present one. */
function halved(known: Concurrency, { startedAtMs, endedAtMs }: RequestResult): Concurrency {
  if (known.halvedAtMs !== null && startedAtMs < known.halvedAtMs) return known;
  return { ...known, limit: Math.max(1, Math.floor(known.limit / 2)), halvedAtMs: endedAtMs };
}

/**
 * More under way than the server works on does not make it quicker, it only waits there, where nothing urgent can
 * overtake it. So the limit follows the latency: up by one for each answer while that is short, ever less towards the
 * aim, and down beyond it. Latency alone never takes it below where it started, and does not hold it below what keeps
 * the least rate flowing.
 */
function followed(known: Concurrency, experience: RequestResult, limitMax: number): Concurrency {
  const { method, startedAtMs, endedAtMs, atLimit } = experience;
  const tookMs = endedAtMs - startedAtMs;
  const latencyMs = Math.min(tookMs, drifted(known.unloaded[method], endedAtMs));
  const share = tookMs / (latencyMs * AIM_FACTOR + AIM_SLACK_MS);
  const strain = known.strain === null ? share : known.strain + (share - known.strain) * SMOOTHING;
  const unloaded = { ...known.unloaded, [method]: { latencyMs, learnedAtMs: endedAtMs } };
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
