/**
 * Decides from what became of a process's requests whether it reaches the API server. It sends nothing and keeps no
 * time: instants are monotonic milliseconds and come in as arguments.
 */

/** What is known of the way to the API server. */
export interface Reachability {
  /** When the first of the requests was sent that have failed since the last answer; null after an answer. */
  readonly failingSinceMs: number | null;
  /** When the first answer came of those since the last failure; null after a failure. */
  readonly answeredSinceMs: number | null;
  /** A failure of a request that was sent before this instant is no news: one was answered then. */
  readonly replyCountsFromMs: number;
  /** Whether the process can observe and write: false once it is cut off, true again after RECOVERY_MS of answers. */
  readonly able: boolean;
}

/**
 * How long requests must be answered without a failure between them before a process that was cut off is able again.
 */
export const RECOVERY_MS = 5_000;

/** A process starts as able: it has just been answered, or else waits for the API server before it starts anything. */
export function reachabilityAtStart(nowMs: number): Reachability {
  return { failingSinceMs: null, answeredSinceMs: nowMs, replyCountsFromMs: nowMs, able: true };
}

/**
 * Whether a status says that the API server heard the request and knows who sent it. 429 does: another process would
 * only add its own lists to the same load. So do 403 and a webhook's denial, which any process with our account meets.
 * 401 does not, because our credentials alone may be at fault. 5xx does not: it comes from a proxy without a server
 * behind it, or from a server without its store; when all processes get it nobody is able, and nothing moves.
 */
export function isAnswered(status: number): boolean {
  return status < 500 && status !== 401;
}

/** After a request was answered. */
export function afterAnswer(known: Reachability, nowMs: number): Reachability {
  return {
    ...known,
    failingSinceMs: null,
    answeredSinceMs: known.answeredSinceMs ?? nowMs,
    replyCountsFromMs: nowMs,
  };
}

/** After a request that was sent at `sentMs` has failed, or was not answered in time. */
export function afterFailure(known: Reachability, sentMs: number): Reachability {
  if (sentMs < known.replyCountsFromMs) return known;
  return { ...known, failingSinceMs: Math.min(known.failingSinceMs ?? sentMs, sentMs), answeredSinceMs: null };
}

/** After the process did not run for a while: what was under way meanwhile says nothing of the API server. */
export function afterStandstill(known: Reachability, nowMs: number): Reachability {
  return {
    ...known,
    failingSinceMs: known.failingSinceMs === null ? null : nowMs,
    answeredSinceMs: known.answeredSinceMs === null ? null : nowMs,
    replyCountsFromMs: nowMs,
  };
}

/**
 * Whether requests are not worth sending now: the process is not able, and the last request failed. A process that
 * recovers sends them again from the first answer on.
 */
export function isCutOff({ able, failingSinceMs }: Reachability): boolean {
  return !able && failingSinceMs !== null;
}

/** The same with `able` as it is now: false from `blindMs` of failures without an answer on. */
export function reviewed(known: Reachability, nowMs: number, blindMs: number): Reachability {
  const dueMs = reviewDueMs(known, blindMs);
  return dueMs === null || nowMs < dueMs ? known : { ...known, able: !known.able };
}

/** When `able` changes if nothing else happens; null when it does not. */
export function reviewDueMs({ able, failingSinceMs, answeredSinceMs }: Reachability, blindMs: number): number | null {
  if (able) return failingSinceMs === null ? null : failingSinceMs + blindMs;
  return answeredSinceMs === null ? null : answeredSinceMs + RECOVERY_MS;
}
