/**
 * Carries out a writer's requests: one attempt at a time per key, the newest request wins, and a failed attempt is
 * retried until the request is done or moot. The writer supplies the attempt itself, and its result from a reply of the
 * API.
 */
import { TEXT_CHARACTERS_MAX } from "../../../protocols/bounds.ts";
import type { EvictionPermit, Outcome } from "../../../protocols/done.ts";
import type { NodeShadowChange, PodShadow } from "../../../protocols/objects.ts";
import type { Io, ReadReply, Timer, WriteReply } from "../../../protocols/ports.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import { retryPauseMs } from "../../structures/retry-schedule.ts";
import { limitedWarn } from "../process/log.limited.ts";

/** How one attempt ended. */
export interface TryResult {
  readonly outcome: Outcome;
  /** What was written, or would have been. */
  readonly change: string;
  readonly detail: string;
  readonly resourceVersion: string | null;
  /** The pause that the API server requested when it throttled. */
  readonly retryAfterMs?: number;
  /** The longest pause before a retry, in milliseconds; absent for the usual one. */
  readonly retryWithinMs?: number;
  /** Whether only the requester may repeat this attempt. A first conflict is retried all the same. */
  readonly isOnce?: boolean;
  /** How long after the request a failure is retried; without a limit when absent. */
  readonly retriedForMs?: number;
  /** Whether the attempt did not fail but came too late: the read it depends on was too old. */
  readonly isLate?: boolean;
  /** The live renewal of the node's lease that refused an eviction. */
  readonly leaseRenewedAt?: number | undefined;
  readonly permit?: EvictionPermit;
  /** What a shadowed write would have changed. */
  readonly nodeShadow?: NodeShadowChange;
  readonly podShadow?: PodShadow;
}

/** The attempts of a request so far. */
export interface TryHistory {
  /** Failed attempts. After a failure the object must be read again. */
  readonly failures: number;
  readonly conflicts: number;
  readonly lates: number;
  /** When the first failure was reported, on the monotonic clock; null before it. */
  readonly failingSinceMs: number | null;
}

/** When an attempt ended and when the next one begins. */
export interface TryTiming {
  /** From the arrival of the request to the end of this attempt. */
  readonly latencyMs: number;
  readonly retrying: boolean;
  /** When it is retried, in epoch milliseconds; absent when it is not. */
  readonly retryAt?: number;
}

/** How a writer carries out requests of type A. */
export interface WriteJobsOptions<A> extends Pick<Io, "clock" | "random"> {
  readonly retryMaxMs: number;
  /** For how long after a request is done one that repeats it is done with it: it was sent before that was known. */
  readonly repeatedForMs?: number;
  /** Whether a denied request is retried too, because a webhook or a role may change. */
  readonly retriesDenied?: boolean;
  /** Whether a request adds nothing to an earlier one, and so is done with it. */
  readonly isRepeated?: (request: A, earlier: A) => boolean;
  /** Whether two requests are for the same change: only then does the later one wait out a pause. */
  readonly isSame?: (request: A, earlier: A) => boolean;
  /** Whether a newer request continues the one attempted, whose outcome then says when it is retried. */
  readonly isContinued?: (request: A, earlier: A) => boolean;
  /** Attempts a request and reports exactly once. `newest` returns the latest request under the same key. */
  readonly attempt: (request: A, history: TryHistory, report: (result: TryResult) => void, newest: () => A) => void;
  readonly reportOutcome: (request: A, result: TryResult, timing: TryTiming) => void;
}

interface WriteJob<A> {
  request: A;
  requestedMs: number;
  history: TryHistory;
  /** A newer request that arrived during an attempt. */
  next: A | null;
  isTrying: boolean;
  timer: Timer | null;
  /** Until when the server requested a pause. */
  quietUntilMs: number;
}

/** Outcomes after which an attempt is retried. */
const RETRIED: ReadonlySet<Outcome> = new Set<Outcome>(["conflict", "throttled", "failed", "unknown"]);
/** Outcomes after which the requested state exists. */
const DONE: ReadonlySet<Outcome> = new Set<Outcome>(["ok", "gone"]);
const UNTRIED: TryHistory = { failures: 0, conflicts: 0, lates: 0, failingSinceMs: null };
/** The shortest pause between attempts before jitter, in milliseconds. */
const RETRY_BASE_MS = 200;
/** Done requests beyond this are forgotten, the one done first. */
const DONE_MAX = 10_000;

/** The unsettled requests of one writer. */
export class WriteJobs<A> {
  readonly #options: WriteJobsOptions<A>;
  readonly #jobs = new Map<string, WriteJob<A>>();
  /** The requests done last, and when on the monotonic clock. */
  readonly #done = new BoundedMap<string, { readonly request: A; readonly doneMs: number }>(DONE_MAX);

  constructor(options: WriteJobsOptions<A>) {
    this.#options = options;
  }

  get size(): number {
    return this.#jobs.size;
  }

  /**
   * Handles a request. It is attempted at once instead of an older one that waits, or after the attempt under way. One
   * for the same change waits out the pause that the server requested, and that after the attempt under way.
   */
  onRequest(key: string, request: A): void {
    const known = this.#jobs.get(key);
    if (known?.isTrying === true) {
      known.next = request;
      return;
    }
    const requestedMs = this.#options.clock.monotonicMs();
    if (known === undefined && this.#wasDone(key, request, requestedMs)) return;
    if (
      known !== undefined &&
      requestedMs < known.quietUntilMs &&
      this.#options.isSame?.(request, known.request) === true
    ) {
      known.request = request;
      known.requestedMs = requestedMs;
      return;
    }
    known?.timer?.cancel();
    const history = known?.history ?? UNTRIED;
    const job = { request, requestedMs, history, next: null, isTrying: false, timer: null, quietUntilMs: requestedMs };
    this.#jobs.set(key, job);
    this.#try(key, job);
  }

  /** Drops the requests under these keys. An attempt under way is still reported, but not retried. */
  drop(isDropped: (key: string) => boolean): void {
    for (const [key, job] of this.#jobs) {
      if (!isDropped(key)) continue;
      job.timer?.cancel();
      this.#jobs.delete(key);
    }
    for (const key of this.#done.keys()) if (isDropped(key)) this.#done.delete(key);
  }

  #try(key: string, job: WriteJob<A>): void {
    job.isTrying = true;
    job.timer = null;
    const report = (result: TryResult): void => {
      if (this.#jobs.get(key) === job) this.#settle(key, job, result);
      else this.#report(job, result, null);
    };
    this.#options.attempt(job.request, job.history, report, () => job.next ?? job.request);
  }

  #settle(key: string, job: WriteJob<A>, result: TryResult): void {
    const { clock } = this.#options;
    const next = this.#isDone(job, result) ? null : job.next;
    const history = historyAfter(job.history, result, clock.monotonicMs());
    const pauseMs = this.#retryPauseMs(job, history, result);
    job.isTrying = false;
    const isReplaced = next !== null && this.#options.isContinued?.(next, job.request) !== true;
    this.#report(job, result, isReplaced ? null : pauseMs);
    job.history = pauseMs === null ? UNTRIED : history;
    // As in a pause: a request waits for no failure of another change, least of all healing.
    const isAtOnce = next !== null && this.#options.isSame?.(next, job.request) !== true;
    if (next !== null) {
      job.next = null;
      job.request = next;
      job.requestedMs = clock.monotonicMs();
    } else if (pauseMs === null) {
      this.#jobs.delete(key);
      this.#keep(key, job, result);
      return;
    }
    job.quietUntilMs = clock.monotonicMs() + (isAtOnce ? 0 : (result.retryAfterMs ?? 0));
    job.timer = clock.after(isAtOnce ? 0 : (pauseMs ?? 0), () => this.#try(key, job));
  }

  #report({ request, requestedMs }: WriteJob<A>, result: TryResult, pauseMs: number | null): void {
    const { clock, reportOutcome } = this.#options;
    // API servers quote whole objects in their refusals, and messages are bounded.
    const change = result.change.slice(0, TEXT_CHARACTERS_MAX);
    const detail = result.detail.slice(0, TEXT_CHARACTERS_MAX);
    const latencyMs = clock.monotonicMs() - requestedMs;
    const next = pauseMs === null ? {} : { retryAt: clock.wallMs() + pauseMs };
    reportOutcome(request, { ...result, change, detail }, { latencyMs, retrying: pauseMs !== null, ...next });
  }

  /** Whether the request that arrived meanwhile is done with the one attempted. */
  #isDone({ request, next }: WriteJob<A>, { outcome }: TryResult): boolean {
    return next !== null && DONE.has(outcome) && this.#options.isRepeated?.(next, request) === true;
  }

  #keep(key: string, { request }: WriteJob<A>, { outcome }: TryResult): void {
    const isKept = this.#options.repeatedForMs !== undefined && DONE.has(outcome);
    if (isKept) this.#done.set(key, { request, doneMs: this.#options.clock.monotonicMs() });
  }

  /** Whether a request repeats one that was done a moment ago. */
  #wasDone(key: string, request: A, nowMs: number): boolean {
    const { repeatedForMs = 0, isRepeated } = this.#options;
    const done = this.#done.get(key);
    return done !== undefined && nowMs - done.doneMs < repeatedForMs && isRepeated?.(request, done.request) === true;
  }

  /** The pause before a retry; null when there is none. */
  #retryPauseMs(job: WriteJob<A>, history: TryHistory, result: TryResult): number | null {
    const { outcome, isOnce = false, retriedForMs = Number.POSITIVE_INFINITY } = result;
    if (isOnce && (outcome !== "conflict" || job.history.failures > 0)) return null;
    if (!RETRIED.has(outcome) && (outcome !== "denied" || this.#options.retriesDenied !== true)) return null;
    const pauseMs = Math.min(this.#pauseMs(history, result), result.retryWithinMs ?? Number.POSITIVE_INFINITY);
    const againMs = this.#options.clock.monotonicMs() + pauseMs;
    return againMs - job.requestedMs > retriedForMs ? null : pauseMs;
  }

  /**
   * A first conflict only means that the object has changed: it is read and attempted again at once. Further ones pause
   * by their own number, so that changes of a pod whose eviction was refused for long do not delay its deletion.
   */
  #pauseMs({ failures, conflicts, lates }: TryHistory, { outcome, retryAfterMs = 0 }: TryResult): number {
    const { random, retryMaxMs } = this.#options;
    const isConflict = outcome === "conflict";
    if (isConflict && conflicts === 1) return 0;
    const tries = (isConflict ? conflicts : failures) + lates;
    return retryAfterMs + retryPauseMs(tries, { baseMs: RETRY_BASE_MS, maxMs: retryMaxMs, random });
  }
}

/**
 * A late attempt is no failure, but it lengthens the pause: more reads would only add to the load that made it late.
 */
function historyAfter(before: TryHistory, { outcome, isLate }: TryResult, nowMs: number): TryHistory {
  if (isLate === true) return { ...before, lates: before.lates + 1 };
  const conflicts = before.conflicts + (outcome === "conflict" ? 1 : 0);
  return { ...before, failures: before.failures + 1, conflicts, failingSinceMs: before.failingSinceMs ?? nowMs };
}

const WARNING_PAUSE_MS = 1000;

interface NamedRequest {
  readonly id: string;
  readonly body: { readonly node: string };
}

/** The result of an attempt that wrote nothing. */
export function unwritten(outcome: Outcome, detail: string): TryResult {
  return { outcome, change: "", detail, resourceVersion: null };
}

/** Returns a function that refuses and logs a request that no service of Vigil makes, which is therefore forged. */
export function forbiddenRefusal({ log, clock }: Pick<Io, "log" | "clock">) {
  const warn = limitedWarn(log, clock, WARNING_PAUSE_MS);
  return ({ id, body: { node } }: NamedRequest, problem: string, report: (result: TryResult) => void): void => {
    warn("refuses a request that no service of Vigil makes", { id, node, problem });
    report(unwritten("refused", problem));
  };
}

/** The result of an attempt that wrote; `change` says what was written, or would have been. */
export function written(reply: WriteReply, change: string): TryResult {
  if (reply.outcome === "ok") {
    const resourceVersion = reply.object.metadata.resourceVersion ?? null;
    return { outcome: "ok", change, detail: "", resourceVersion };
  }
  const { detail } = reply;
  const failed = { change, detail, resourceVersion: null };
  if (reply.outcome === "throttled") return { ...failed, outcome: "throttled", retryAfterMs: reply.retryAfterMs };
  if (reply.isLate === true) return { ...failed, outcome: "failed", isLate: true };
  return { ...failed, outcome: reply.outcome === "exists" ? "failed" : reply.outcome };
}

/** The result of an attempt whose live read of `what` failed: without it nothing is written. */
export function unread(what: string, reply: Exclude<ReadReply, { outcome: "ok" }>): TryResult {
  const pause = reply.outcome === "throttled" ? { retryAfterMs: reply.retryAfterMs } : {};
  return { ...unwritten(reply.outcome, `the ${what} could not be read: ${reply.detail}`), ...pause };
}
