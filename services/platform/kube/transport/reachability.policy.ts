/**
 * Decides from the results of a process's requests whether it reaches the API server. Pure; instants are monotonic
 * milliseconds.
 */

/** The reachability of the API server. */
export interface Reachability {
  /** When the first request of the present run of failures was sent; null after an answer. */
  readonly failingSinceMs: number | null;
  /** When the first answer since the last failure arrived; null after a failure. */
  readonly answeredSinceMs: number | null;
  /** Failures of requests sent before this are ignored, because another was answered then. */
  readonly replyCountsFromMs: number;
  /** Whether the process can observe and write: false once it is cut off, true again after RECOVERY_MS of answers. */
  readonly able: boolean;
}

/** How long requests must succeed before a process that was cut off is able again. */
export const RECOVERY_MS = 5_000;

/**
 * A process starts as able: the API server has just answered it, or the process waits for that before it starts
 * anything.
 */
export function reachabilityAtStart(nowMs: number): Reachability {
  return { failingSinceMs: null, answeredSinceMs: nowMs, replyCountsFromMs: nowMs, able: true };
}

/**
 * Whether a status shows that the API server received the request and authenticated us. 429 does: moving the work would
 * only add another process's lists to the same load. So do 403 and a webhook's denial, which any process with our
 * account gets. 401 does not, because our credentials alone may be at fault. 5xx does not: it comes from a proxy
 * without a server behind it, or from a server without its store. If all processes get it, none is able and nothing
 * moves.
 */
export function isAnswered(status: number): boolean {
  return status < 500 && status !== 401;
}

/** The state after an answer. */
export function afterAnswer(known: Reachability, nowMs: number): Reachability {
  return {
    ...known,
    failingSinceMs: null,
    answeredSinceMs: known.answeredSinceMs ?? nowMs,
    replyCountsFromMs: nowMs,
  };
}

/** The state after a request sent at `sentMs` has failed or timed out. */
export function afterFailure(known: Reachability, sentMs: number): Reachability {
  if (sentMs < known.replyCountsFromMs) return known;
  return { ...known, failingSinceMs: Math.min(known.failingSinceMs ?? sentMs, sentMs), answeredSinceMs: null };
}

/** The state after the process was suspended: requests in flight meanwhile say nothing about the API server. */
export function afterSuspension(known: Reachability, nowMs: number): Reachability {
  return {
    ...known,
    failingSinceMs: known.failingSinceMs === null ? null : nowMs,
    answeredSinceMs: known.answeredSinceMs === null ? null : nowMs,
    replyCountsFromMs: nowMs,
  };
}

/**
 * Whether requests are not worth sending: the process is not able, and the last request failed. A recovering process
 * sends again from the first answer on.
 */
export function isCutOff({ able, failingSinceMs }: Reachability): boolean {
  return !able && failingSinceMs !== null;
}

/** The same state with `able` updated: false after `blindMs` of failures without an answer. */
export function reviewed(known: Reachability, nowMs: number, blindMs: number): Reachability {
  const dueMs = reviewDueMs(known, blindMs);
  return dueMs === null || nowMs < dueMs ? known : { ...known, able: !known.able };
}

/** When `able` changes if nothing else happens; null when it does not. */
export function reviewDueMs({ able, failingSinceMs, answeredSinceMs }: Reachability, blindMs: number): number | null {
  if (able) return failingSinceMs === null ? null : failingSinceMs + blindMs;
  return answeredSinceMs === null ? null : answeredSinceMs + RECOVERY_MS;
}
