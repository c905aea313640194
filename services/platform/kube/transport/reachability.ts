/**
 * Measures whether this process reaches the API server. It counts the results of all requests on its wire, and sends a
 * small probe when none was answered for a while: a process that sends nothing would not notice that it is cut off, or
 * reachable again. An open watch proves nothing, because it stays open on a link that carries nothing.
 */
import type { HttpExchange, HttpRequest, Io, Metrics, Stop, Timer, Wire } from "../../../../protocols/ports.ts";
import { call } from "./call.ts";
import { objectPath } from "./paths.ts";
import {
  afterAnswer,
  afterFailure,
  afterSuspension,
  isAnswered,
  isCutOff,
  type Reachability,
  reachabilityAtStart,
  reviewDueMs,
  reviewed,
} from "./reachability.policy.ts";

/**
 * How long without an answer until a probe is sent, in milliseconds. A process that is cut off is replaced
 * `watchBlindMs` after its first failure, so this is the rest of a takeover's time. In a quiet cluster the probes are
 * the only requests: one a second costs a tenth of the CPU of a process that owns 3,000 nodes.
 */
const PROBE_IDLE_MS = 3_000;
/** The same while requests fail, and until the process is able again. */
const PROBE_FAILING_MS = 1_000;

/**
 * The smallest read that goes through authentication, authorization and the store; `/version` does not. Without
 * permission the answer is 403, which is an answer.
 */
const PROBE: HttpRequest = {
  method: "GET",
  path: objectPath({ kind: "Namespace", namespace: "", name: "kube-system" }),
  headers: { accept: "application/json" },
  body: null,
};

/** The ports and settings of the measurement. */
export interface ReachabilityIo extends Pick<Io, "clock" | "log" | "metrics" | "profile"> {
  readonly wire: Wire;
}

/** The reachability of the API server, as reported. */
export interface ReachabilityReport {
  /** Whether the process can observe and write. */
  readonly able: boolean;
  readonly isFailing: boolean;
  /** How long it has been unable or failing, in milliseconds; 0 otherwise. */
  readonly failingForMs: number;
  /** The last failure, in one line; empty before the first. */
  readonly problem: string;
}

/** Measures reachability for one process until it is stopped. */
export class ApiReachability {
  /** The given wire, with its requests counted. */
  readonly wire: Wire;
  readonly #io: ReachabilityIo;
  readonly #followers = new Set<() => void>();
  readonly #gauge: ReturnType<Metrics["gauge"]>;
  #known: Reachability;
  #answeredMs: number;
  /** Start of the failures that made it unable, or that continue now. */
  #failedFromMs: number | null = null;
  #problem = "";
  #probing: Timer;
  #review: Timer | null = null;
  #isStopped = false;

  constructor(io: ReachabilityIo) {
    const { clock, metrics } = io;
    this.#io = io;
    this.#answeredMs = clock.monotonicMs();
    this.#known = reachabilityAtStart(this.#answeredMs);
    const help =
      "1 while the process can observe and write, 0 from --watch-blind of failed requests on, until they succeed.";
    this.#gauge = metrics.gauge({ name: "vigil_api_reachable", help });
    this.#gauge.set(1);
    this.wire = { send: (request, exchange) => this.#send(request, exchange) };
    this.#probing = this.#probeAfter(PROBE_IDLE_MS);
  }

  report(): ReachabilityReport {
    const { able, failingSinceMs } = this.#known;
    const failingForMs = this.#failedFromMs === null ? 0 : this.#io.clock.monotonicMs() - this.#failedFromMs;
    return { able, isFailing: failingSinceMs !== null, failingForMs, problem: this.#problem };
  }

  /** Whether requests are not worth sending now. */
  get isCutOff(): boolean {
    return isCutOff(this.#known);
  }

  /** When a request was last answered, on the monotonic clock. */
  get answeredMs(): number {
    return this.#answeredMs;
  }

  /** Calls `changed` when the process becomes able or unable, and when its requests start or stop failing. */
  follow(changed: () => void): Stop {
    this.#followers.add(changed);
    return () => this.#followers.delete(changed);
  }

  stop(): void {
    this.#isStopped = true;
    this.#probing.cancel();
    this.#review?.cancel();
    this.#followers.clear();
  }

  #send(request: HttpRequest, exchange: HttpExchange): { abort(): void } {
    const { wire, clock } = this.#io;
    const sentMs = clock.monotonicMs();
    let hasEnded = false;
    return wire.send(request, {
      response: (status, headers) => {
        hasEnded = true;
        exchange.response(status, headers);
        if (isAnswered(status)) this.#answered();
        else this.#failed(sentMs, `the API server answers ${status}`);
      },
      data: (chunk, waitedMs) => exchange.data(chunk, waitedMs),
      end: () => exchange.end(),
      failed: (failure) => {
        exchange.failed(failure);
        // A stream that breaks had been answered; the next request shows more.
        if (!hasEnded) this.#failed(sentMs, failure.message);
      },
    });
  }

  #probeAfter(pauseMs: number): Timer {
    const { clock } = this.#io;
    const dueMs = clock.monotonicMs() + pauseMs;
    return clock.after(pauseMs, () => this.#probeIfIdle(dueMs));
  }

  /** Sends a probe after too long without an answer; `dueMs` is when this call was due. */
  #probeIfIdle(dueMs: number): void {
    const { clock, profile } = this.#io;
    const nowMs = clock.monotonicMs();
    if (nowMs - dueMs > profile.watchBlindMs / 2) this.#become(afterSuspension(this.#known, nowMs));
    const { able, failingSinceMs } = this.#known;
    const periodMs = able && failingSinceMs === null ? PROBE_IDLE_MS : PROBE_FAILING_MS;
    const idleMs = nowMs - this.#answeredMs;
    this.#probing = this.#probeAfter(idleMs >= periodMs ? periodMs : periodMs - idleMs);
    if (idleMs >= periodMs) this.#probe(nowMs);
  }

  /** A slow probe does not delay the next one. */
  #probe(sentMs: number): void {
    const { clock, profile } = this.#io;
    call({ wire: this.wire, clock }, PROBE, profile.watchBlindMs, (answer) => {
      if (answer.kind === "lost" && answer.timedOut) this.#failed(sentMs, answer.message);
    });
  }

  #answered(): void {
    this.#answeredMs = this.#io.clock.monotonicMs();
    this.#become(afterAnswer(this.#known, this.#answeredMs));
  }

  #failed(sentMs: number, problem: string): void {
    this.#problem = problem;
    this.#become(afterFailure(this.#known, sentMs));
  }

  #become(known: Reachability): void {
    if (this.#isStopped) return;
    const { clock, profile } = this.#io;
    const before = this.#known;
    this.#known = reviewed(known, clock.monotonicMs(), profile.watchBlindMs);
    const { able, failingSinceMs } = this.#known;
    if (able && failingSinceMs === null) this.#failedFromMs = null;
    else this.#failedFromMs ??= failingSinceMs;
    this.#armReview();
    if (able !== before.able) this.#notify(able);
    const isFailing = failingSinceMs !== null;
    const wasFailing = before.failingSinceMs !== null;
    if (isFailing && !wasFailing) {
      this.#probing.cancel();
      this.#probing = this.#probeAfter(PROBE_FAILING_MS);
    }
    if (able !== before.able || isFailing !== wasFailing) for (const changed of Array.from(this.#followers)) changed();
  }

  #armReview(): void {
    const { clock, profile } = this.#io;
    this.#review?.cancel();
    const dueMs = reviewDueMs(this.#known, profile.watchBlindMs);
    const delayMs = dueMs === null ? 0 : Math.max(0, dueMs - clock.monotonicMs());
    this.#review = dueMs === null ? null : clock.after(delayMs, () => this.#become(this.#known));
  }

  #notify(able: boolean): void {
    this.#gauge.set(able ? 1 : 0);
    if (able) this.#io.log.info("the API server answers again: able to observe and write");
    else this.#io.log.warn("the API server cannot be reached: unable to observe and write", { problem: this.#problem });
  }
}
