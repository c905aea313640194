/**
 * Sends writes and live reads to the API: by urgency, one write per object, within a limit on requests in flight. It
 * retries nothing.
 */
import type {
  Clock,
  HttpRequest,
  ObjectRef,
  ReadPlace,
  ReadReply,
  ReviewKind,
  ReviewReply,
  Timer,
  Wire,
  WriteReply,
  WriteRequest,
} from "../../../../protocols/ports.ts";
import { Urgency } from "../../../../protocols/ports.ts";
import { oneTokenAfterMs, type TokenBucket, tokensIn } from "../../../structures/token-bucket.ts";
import { type Answer, call } from "../transport/call.ts";
import { type Concurrency, concurrencyAfter, concurrencyAtStart } from "../transport/concurrency.policy.ts";
import { isOverload, readReplyOf, reviewReplyOf, writeReplyOf } from "../transport/outcome.policy.ts";
import { objectPath, reviewPath } from "../transport/paths.ts";
import { Queue, type QueuedRequest } from "../transport/queue.ts";
import type { ApiReachability } from "../transport/reachability.ts";
import {
  EVICTION_DISCOVERY_PATH,
  type EvictionRequest,
  evictionRequest,
  evictionVersionOf,
  httpRequest,
  httpRequestOf,
  JSON_TYPE,
} from "./http-request.ts";
import { ElapsedTime, type Instants, isTooOld, RecentLatencies } from "./read-age.policy.ts";

/** What a writer needs. */
export interface WriterIo {
  readonly wire: Wire;
  readonly clock: Clock;
  /** The machine's own wall clock; `clock` may have the API server's instead. */
  readonly machineWallMs: () => number;
  /** Limit on requests in flight. */
  readonly inFlightMax: number;
  /** Limit on requests per second; 0 for none. */
  readonly perSecondMax: number;
  /** Burst allowed under `perSecondMax`. */
  readonly burst: number;
  /** Longest validity of a live read on a slow server, in milliseconds: a node's grace period. */
  readonly graceMs: number;
  /** Longest wait for an answer; infinite where the usual timeouts apply. */
  readonly patienceMs: number;
  /** Whether this process reaches the API server; null when it is not measured. */
  readonly reachability: Pick<ApiReachability, "isCutOff" | "answeredMs" | "follow"> | null;
  readonly observe: (request: ObservedRequest) => void;
}

/** One request, for the metrics. */
export interface ObservedRequest {
  readonly verb: "get" | WriteRequest["verb"];
  readonly kind: ObjectRef["kind"] | ReviewKind;
  readonly outcome: WriteReply["outcome"];
  readonly latencyMs: number;
}

/** Admission webhooks may take 10 s, their default timeout. After this the reply counts as lost. */
const WRITE_TIMEOUT_MS = 15_000;
/** A read calls no webhook. */
const READ_TIMEOUT_MS = 10_000;
/** As long as upstream's delegating components wait (DelegatingAuthorizationOptions.ClientTimeout). */
const REVIEW_TIMEOUT_MS = 10_000;
/** Reviews run one after the other, so that users of the console take one place at most. */
const REVIEW_LANE = "reviews";
/** Ranks of one urgency: its last writes, the requests one step before them, and those two steps before. */
const RANKS = 3;
const TOO_LATE: Answer = {
  kind: "lost",
  message: "it waited too long to be sent",
  sent: false,
  timedOut: false,
  isLate: true,
};
const OUTDATED: Answer = { ...TOO_LATE, message: "what it was decided on had changed when it could be sent" };
const CUT_OFF: Answer = {
  kind: "lost",
  message: "the API server answers no request of this process",
  sent: false,
  timedOut: false,
};

/**
 * How long a request takes at least before it counts as stalled, in milliseconds, and how many times as long as others.
 */
const STALL_LEAST_MS = 1000;
const STALL_LATENCIES = 4;
/** How often requests in flight are checked for stalls, in milliseconds. */
const STALL_CHECK_MS = 500;
/** The share of `inFlightMax` that may stall and give their places back. */
const STALLED_SHARE = 0.5;

interface RunningRequest {
  readonly likeness: string;
  readonly startedAtMs: number;
  readonly stalled: () => void;
}

/** How a request is sent. */
interface Sending {
  /** Its verb and kind: requests of one likeness take equally long on an idle server. */
  readonly likeness: string;
  readonly timeoutMs: number;
  /** When the oldest live read behind the request was answered; absent if it rests on none. */
  readonly readAtMs?: number | undefined;
  readonly sent?: (() => void) | undefined;
  /** Whether its latency says nothing about the server's load. */
  readonly isUnmeasured?: boolean;
}

/** Writes and live reads. */
export class Writer {
  readonly #io: WriterIo;
  readonly #queue: Queue;
  readonly #latencies = new RecentLatencies();
  readonly #elapsed = new ElapsedTime();
  #concurrency: Concurrency;
  #bucket: TokenBucket;
  #refillPending = false;
  /** Requests in flight that occupy a place, in the order of their start. */
  readonly #running = new Set<RunningRequest>();
  #stallCheck: Timer | null = null;
  /** When the newest request was started that was answered. */
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** The apiVersion of evictions; null until it is known. */
  #evictionVersion: string | null = null;
  /** Evictions that wait for it. */
  readonly #undiscovered: (() => void)[] = [];

  constructor(io: WriterIo) {
    this.#io = io;
    const mayStall = () => io.reachability?.isCutOff !== true;
    this.#queue = new Queue(() => this.#admit(), mayStall);
    this.#concurrency = concurrencyAtStart(io.inFlightMax);
    this.#bucket = { tokens: io.burst, at: io.clock.monotonicMs() };
    // Requests that wait when the process is cut off fail at once.
    io.reachability?.follow(() => this.#queue.offerParked());
  }

  /** Requests waiting and in flight, how many of these hang, and the present limit. */
  load(): Readonly<Record<"waiting" | "underWay" | "stalled" | "limit", number>> {
    const { waiting, underWay, stalled } = this.#queue;
    return { waiting, underWay: underWay + stalled, stalled, limit: Math.floor(this.#concurrency.limit) };
  }

  /**
   * Reads an object past every cache, in the order that `place` gives. `shown` is called when it would be sent: where it
   * returns a function, that is called instead.
   */
  read(
    ref: ObjectRef,
    done: (reply: ReadReply) => void,
    place?: ReadPlace,
    shown: () => (() => void) | null = () => null,
  ): void {
    const request: HttpRequest = { method: "GET", path: objectPath(ref), headers: { accept: JSON_TYPE }, body: null };
    const likeness = `get ${ref.kind}`;
    const sending = { likeness, timeoutMs: this.#within(READ_TIMEOUT_MS), sent: place?.sent };
    const rank = place === undefined ? rankOf(Urgency.healing, 0) : rankOf(place.urgency, place.stepsBefore);
    let use: (() => void) | null = null;
    this.#enqueue(
      { operation: `GET ${request.path}`, lane: null, urgency: rank, group: groupOf(ref) },
      () => {
        use = shown();
        return use === null ? request : null;
      },
      sending,
      (answer, latencyMs) => {
        if (use !== null) {
          use();
          return;
        }
        if (ref.kind !== "CustomResource") this.#remember(likeness, answer, latencyMs);
        const reply = readReplyOf(answer, ref.name === "");
        this.#io.observe({ verb: "get", kind: ref.kind, outcome: reply.outcome, latencyMs });
        done(reply);
      },
    );
  }

  write(request: WriteRequest, done: (reply: WriteReply) => void): void {
    if (request.verb !== "evict") this.#send(request, () => httpRequestOf(request), done);
    else this.#evict(request, done);
  }

  /** Sends an eviction in the version that the server has, which is discovered once. */
  #evict(request: EvictionRequest, done: (reply: WriteReply) => void): void {
    const send = (): void => {
      const version = this.#evictionVersion;
      if (version === null) {
        done({ outcome: "failed", detail: "the API server did not say which version of the Eviction API it has" });
        return;
      }
      this.#send(request, () => evictionRequest(request, version), done);
    };
    if (this.#evictionVersion !== null) send();
    else if (this.#undiscovered.push(send) === 1) this.#discoverEviction(request.urgency);
  }

  #discoverEviction(urgency: Urgency): void {
    const request = { method: "GET", path: EVICTION_DISCOVERY_PATH, headers: { accept: JSON_TYPE }, body: null };
    const place = { operation: `GET ${request.path}`, lane: null, urgency: rankOf(urgency, 1) };
    this.#enqueue(
      place,
      () => request,
      { likeness: place.operation, timeoutMs: this.#within(READ_TIMEOUT_MS) },
      (answer) => {
        this.#evictionVersion = evictionVersionOf(answer);
        for (const send of this.#undiscovered.splice(0)) send();
      },
    );
  }

  #send(request: WriteRequest, http: () => HttpRequest | null, done: (reply: WriteReply) => void): void {
    const { ref, verb, urgency, stepsBefore = 0, readAtMs } = request;
    const lane = verb === "create" ? null : `${ref.kind}/${ref.namespace}/${ref.name}`;
    // A server retries a conflicting eviction by itself for seconds.
    const isUnmeasured = verb === "evict";
    const likeness = `${verb} ${ref.kind}`;
    const sending = { likeness, timeoutMs: this.#within(WRITE_TIMEOUT_MS), readAtMs, isUnmeasured };
    const isBackground = urgency === Urgency.event;
    const operation = `${verb} ${objectPath(ref)} ${request.subresource ?? ""}`;
    const place = { operation, lane, urgency: rankOf(urgency, stepsBefore), isBackground, group: groupOf(ref) };
    this.#enqueue(place, http, sending, (answer, latencyMs) => {
      if (!isBackground && !isUnmeasured) this.#remember(likeness, answer, latencyMs);
      const reply = writeReplyOf(answer, ref, request.verb === "patch" && request.patch === "json");
      this.#io.observe({ verb, kind: ref.kind, outcome: reply.outcome, latencyMs });
      done(reply);
    });
  }

  /** Sends a review. Its latency says nothing about writes and is not sampled. */
  review(kind: ReviewKind, spec: object, done: (reply: ReviewReply) => void): void {
    const apiVersion = reviewPath(kind).split("/").slice(2, 4).join("/");
    const request = httpRequest("POST", reviewPath(kind), JSON_TYPE, { apiVersion, kind, spec });
    const place = { operation: `POST ${request.path}`, lane: REVIEW_LANE, urgency: rankOf(Urgency.review, 0) };
    this.#enqueue(
      place,
      () => request,
      { likeness: place.operation, timeoutMs: this.#within(REVIEW_TIMEOUT_MS) },
      (answer, latencyMs) => {
        const reply = reviewReplyOf(answer);
        this.#io.observe({ verb: "create", kind, outcome: reply.outcome, latencyMs });
        done(reply);
      },
    );
  }

  #within(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#io.patienceMs);
  }

  /** Queues a request, which `made` makes when it is sent; null for one that is not to be sent any more. */
  #enqueue(
    place: Omit<QueuedRequest, "run">,
    made: () => HttpRequest | null,
    { likeness, timeoutMs, readAtMs, sent, isUnmeasured = false }: Sending,
    answered: (answer: Answer, latencyMs: number) => void,
  ): void {
    const run = (ended: () => void, stalled: () => void): void => {
      const startedAtMs = this.#io.clock.monotonicMs();
      const unsent = this.#reasonNotToSend(readAtMs, startedAtMs);
      const request = unsent === null ? made() : null;
      if (request === null) {
        this.#io.clock.soon(() => {
          answered(unsent ?? OUTDATED, 0);
          ended();
        });
        return;
      }
      const running = { likeness, startedAtMs, stalled };
      this.#running.add(running);
      this.#checkStalls();
      call(this.#io, request, timeoutMs, (answer) => {
        this.#leave(running);
        this.#elapsed.note(this.#instants(), this.#io.graceMs);
        if (answer.kind === "answer") this.#answeredMs = Math.max(this.#answeredMs, startedAtMs);
        if (!isUnmeasured || isOverload(answer)) this.#learn(running, answer);
        // Before `ended`: a request that this answer leads to competes for the freed place.
        answered(answer, this.#io.clock.monotonicMs() - startedAtMs);
        ended();
      });
      sent?.();
    };
    this.#queue.add({ ...place, run });
  }

  #leave(running: RunningRequest): void {
    this.#running.delete(running);
    if (this.#running.size > 0) return;
    this.#stallCheck?.cancel();
    this.#stallCheck = null;
  }

  /** Whether a request takes far longer than others do. */
  #isLong({ startedAtMs }: RunningRequest): boolean {
    const nowMs = this.#io.clock.monotonicMs();
    const stallMs = Math.max(STALL_LEAST_MS, STALL_LATENCIES * this.#latencies.slowestP99Ms(nowMs));
    return nowMs - startedAtMs >= stallMs;
  }

  /** Whether another request may be sent in the place of one that hangs: something was answered meanwhile. */
  #mayReplace(request: RunningRequest): boolean {
    const answeredMs = this.#io.reachability?.answeredMs ?? Number.POSITIVE_INFINITY;
    return answeredMs > request.startedAtMs && this.#isLong(request);
  }

  /** Whether a request hangs because of its object: the server has answered one that was started later. */
  #isStalled(request: RunningRequest): boolean {
    return request.startedAtMs <= this.#answeredMs && this.#isLong(request);
  }

  /**
   * Takes the places of requests that hang while the server answers others. If all hang, no later one can be answered,
   * so the oldest gives its place to another, unless the process seems to be cut off.
   */
  #checkStalls(): void {
    if (this.#stallCheck !== null || this.#running.size === 0) return;
    const { clock, inFlightMax } = this.#io;
    this.#stallCheck = clock.after(STALL_CHECK_MS, () => {
      this.#stallCheck = null;
      let isOldest = true;
      for (const running of this.#running) {
        const gives = this.#isStalled(running) || (isOldest && this.#mayReplace(running));
        if (!gives || this.#queue.stalled >= inFlightMax * STALLED_SHARE) break;
        isOldest = false;
        this.#running.delete(running);
        running.stalled();
      }
      this.#checkStalls();
    });
  }

  /** The answer of a request that must not be sent; null to send it. */
  #reasonNotToSend(readAtMs: number | undefined, nowMs: number): Answer | null {
    if (readAtMs !== undefined && this.#isTooOld(readAtMs, nowMs)) return TOO_LATE;
    return this.#isHopeless() ? CUT_OFF : null;
  }

  #isTooOld(readAtMs: number, nowMs: number): boolean {
    const ageMs = this.#elapsed.sinceMs(readAtMs, this.#instants());
    return isTooOld(ageMs, nowMs, this.#latencies, this.#io.graceMs);
  }

  #instants(): Instants {
    return { monotonicMs: this.#io.clock.monotonicMs(), wallMs: this.#io.machineWallMs() };
  }

  /** A request without an answer measures our timeout, not the server. */
  #remember(request: string, answer: Answer, latencyMs: number): void {
    if (answer.kind === "answer") {
      this.#latencies.add(request, { latencyMs, endedAtMs: this.#io.clock.monotonicMs() });
    }
  }

  /**
   * Whether a request is not worth sending because the process is cut off. One at a time is sent all the same, in case
   * the reachability measurement is wrong.
   */
  #isHopeless(): boolean {
    return this.#io.reachability?.isCutOff === true && this.#queue.underWay > 1;
  }

  #learn(request: RunningRequest, answer: Answer): void {
    const { likeness, startedAtMs } = request;
    const overloaded = isOverload(answer);
    // A broken connection says nothing about load, nor does an object that hangs while others are answered.
    if (answer.kind === "lost" && (!overloaded || this.#isStalled(request))) return;
    const endedAtMs = this.#io.clock.monotonicMs();
    const atLimit = this.#queue.underWay >= Math.floor(this.#concurrency.limit);
    const experience = { likeness, startedAtMs, endedAtMs, overloaded, atLimit };
    this.#concurrency = concurrencyAfter(this.#concurrency, experience, this.#io.inFlightMax);
  }

  #admit(): boolean {
    if (this.#io.reachability?.isCutOff === true) return true;
    const { perSecondMax: perSecond, burst, clock, inFlightMax } = this.#io;
    const placesMax = Math.max(1, inFlightMax - this.#queue.stalled);
    if (this.#queue.underWay >= Math.min(placesMax, Math.floor(this.#concurrency.limit))) return false;
    if (perSecond === 0) return true;
    const nowMs = clock.monotonicMs();
    const tokens = tokensIn(this.#bucket, { perSecond, burst }, nowMs);
    const isAdmitted = tokens >= 1;
    this.#bucket = { tokens: isAdmitted ? tokens - 1 : tokens, at: nowMs };
    if (!isAdmitted) this.#awaitToken(oneTokenAfterMs(this.#bucket, perSecond));
    return isAdmitted;
  }

  #awaitToken(delayMs: number): void {
    if (this.#refillPending) return;
    this.#refillPending = true;
    this.#io.clock.after(Math.ceil(delayMs), () => {
      this.#refillPending = false;
      this.#queue.drain();
    });
  }
}

/** Objects that may stall together: a webhook selects pods, and often those of a lost node. */
function groupOf({ kind, node = "" }: ObjectRef): string {
  return `${kind}@${node}`;
}

function rankOf(urgency: Urgency, stepsBefore: number): number {
  return urgency * RANKS + stepsBefore;
}
