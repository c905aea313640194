/**
 * Sends writes and live reads to the API: in order of urgency, one write per object, no more at once than the server
 * bears. It retries nothing.
 */
import type {
  Clock,
  HttpRequest,
  ObjectRef,
  ReadPlace,
  ReadReply,
  ReviewKind,
  ReviewReply,
  Wire,
  WriteReply,
  WriteRequest,
} from "../../../../protocols/ports.ts";
import { Urgency } from "../../../../protocols/ports.ts";
import { oneTokenAfterMs, type TokenBucket, tokensIn } from "../../structures/token-bucket.ts";
import { type Answer, call } from "../transport/call.ts";
import { type Concurrency, concurrencyAfter, concurrencyAtStart } from "../transport/concurrency.policy.ts";
import { readReplyOf, reviewReplyOf, writeReplyOf } from "../transport/outcome.policy.ts";
import { collectionPath, objectPath, reviewPath } from "../transport/paths.ts";
import { Queue, type QueuedRequest } from "../transport/queue.ts";
import type { ApiReachability } from "../transport/reachability.ts";
import { ElapsedTime, type Instants, isTooOld, RecentLatencies } from "./read-age.policy.ts";

/** What a writer needs. */
export interface WriterIo {
  readonly wire: Wire;
  readonly clock: Clock;
  /** The machine's own wall clock, which `clock` may replace by the API server's. */
  readonly machineWallMs: () => number;
  /** Ceiling on requests under way at once. */
  readonly inFlightMax: number;
  /** Ceiling on requests per second; 0 for none. */
  readonly perSecondMax: number;
  /** Requests allowed at once under `perSecondMax`. */
  readonly burst: number;
  /** Longest time that a live read counts on a slow server, in milliseconds: a node's grace period. */
  readonly graceMs: number;
  /** No answer is waited for longer than this; infinite where the usual deadlines are enough. */
  readonly patienceMs: number;
  /** How this process stands to the API server; null when it is not measured. */
  readonly reachability: Pick<ApiReachability, "isCutOff" | "follow"> | null;
  readonly observe: (request: ObservedRequest) => void;
}

/** What is told of each request for the metrics. */
export interface ObservedRequest {
  readonly verb: "get" | WriteRequest["verb"];
  readonly kind: ObjectRef["kind"] | ReviewKind;
  readonly outcome: WriteReply["outcome"];
  readonly latencyMs: number;
}

/**
 * Admission webhooks may take 10 s (their default timeout); a request that takes longer than this has lost its reply.
 */
const WRITE_TIMEOUT_MS = 15_000;
/** A read calls no webhook. */
const READ_TIMEOUT_MS = 10_000;
/** As long as upstream's delegating components wait (DelegatingAuthorizationOptions.ClientTimeout). */
const REVIEW_TIMEOUT_MS = 10_000;
/** Reviews wait for each other, so that those who ask the console take no more than one place. */
const REVIEW_LANE = "reviews";
/** Ranks of one urgency: its writes, then the reads one step before them, then those two steps before. */
const RANKS = 3;
const TOO_LATE: Answer = {
  kind: "lost",
  message: "it waited too long to be sent",
  sent: false,
  timedOut: false,
  isLate: true,
};
const CUT_OFF: Answer = {
  kind: "lost",
  message: "the API server answers no request of this process",
  sent: false,
  timedOut: false,
};
const JSON_TYPE = "application/json";
const PATCH_TYPE = {
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
} as const;

/** How a request is sent. */
interface Sending {
  readonly timeoutMs: number;
  /** When the oldest live read behind it was answered; absent for a request that rests on none. */
  readonly readAtMs?: number | undefined;
  readonly sent?: (() => void) | undefined;
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

  constructor(io: WriterIo) {
    this.#io = io;
    this.#queue = new Queue(() => this.#admit());
    this.#concurrency = concurrencyAtStart(io.inFlightMax);
    this.#bucket = { tokens: io.burst, at: io.clock.monotonicMs() };
    // Those that wait when the process is cut off fail then, whatever is allowed at once.
    io.reachability?.follow(() => this.#queue.drain());
  }

  /** How the writer stands: what waits, what is under way, and how much may be. */
  load(): { readonly waiting: number; readonly underWay: number; readonly limit: number } {
    return { waiting: this.#queue.waiting, underWay: this.#queue.underWay, limit: Math.floor(this.#concurrency.limit) };
  }

  /** Reads an object past every cache, in the order that its place gives it. */
  read(ref: ObjectRef, done: (reply: ReadReply) => void, place?: ReadPlace): void {
    const request: HttpRequest = { method: "GET", path: objectPath(ref), headers: { accept: JSON_TYPE }, body: null };
    const sending = { timeoutMs: this.#within(READ_TIMEOUT_MS), sent: place?.sent };
    const rank = place === undefined ? rankOf(Urgency.healing, 0) : rankOf(place.urgency, place.stepsBefore);
    this.#enqueue({ lane: null, urgency: rank }, request, sending, (answer, latencyMs) => {
      this.#remember(`get ${ref.kind}`, answer, latencyMs);
      const reply = readReplyOf(answer);
      this.#io.observe({ verb: "get", kind: ref.kind, outcome: reply.outcome, latencyMs });
      done(reply);
    });
  }

  /** Sends one write. */
  write(request: WriteRequest, done: (reply: WriteReply) => void): void {
    const { ref, verb, urgency, readAtMs } = request;
    const lane = verb === "create" ? null : `${ref.kind}/${ref.namespace}/${ref.name}`;
    const sending = { timeoutMs: this.#within(WRITE_TIMEOUT_MS), readAtMs };
    const isBackground = urgency === Urgency.event;
    const place = { lane, urgency: rankOf(urgency, 0), isBackground };
    this.#enqueue(place, httpRequestOf(request), sending, (answer, latencyMs) => {
      if (!isBackground) this.#remember(`${verb} ${ref.kind}`, answer, latencyMs);
      const reply = writeReplyOf(answer, ref, request.verb === "patch" && request.patch === "json");
      this.#io.observe({ verb, kind: ref.kind, outcome: reply.outcome, latencyMs });
      done(reply);
    });
  }

  /** Asks for a review. Its latency tells nothing about writes, and is not remembered. */
  review(kind: ReviewKind, spec: object, done: (reply: ReviewReply) => void): void {
    const apiVersion = reviewPath(kind).split("/").slice(2, 4).join("/");
    const request = httpRequest("POST", reviewPath(kind), JSON_TYPE, { apiVersion, kind, spec });
    const place = { lane: REVIEW_LANE, urgency: rankOf(Urgency.review, 0) };
    this.#enqueue(place, request, { timeoutMs: this.#within(REVIEW_TIMEOUT_MS) }, (answer, latencyMs) => {
      const reply = reviewReplyOf(answer);
      this.#io.observe({ verb: "create", kind, outcome: reply.outcome, latencyMs });
      done(reply);
    });
  }

  #within(timeoutMs: number): number {
    return Math.min(timeoutMs, this.#io.patienceMs);
  }

  #enqueue(
    place: Omit<QueuedRequest, "run">,
    request: HttpRequest,
    { timeoutMs, readAtMs, sent }: Sending,
    answered: (answer: Answer, latencyMs: number) => void,
  ): void {
    const run = (ended: () => void): void => {
      const startedAtMs = this.#io.clock.monotonicMs();
      const unsent = this.#reasonNotToSend(readAtMs, startedAtMs);
      if (unsent !== null) {
        this.#io.clock.soon(() => {
          answered(unsent, 0);
          ended();
        });
        return;
      }
      call(this.#io, request, timeoutMs, (answer) => {
        this.#elapsed.note(this.#instants(), this.#io.graceMs);
        this.#learn(request.method, startedAtMs, answer);
        // First, so that what an answer leads to is among those that the freed place may go to.
        answered(answer, this.#io.clock.monotonicMs() - startedAtMs);
        ended();
      });
      sent?.();
    };
    this.#queue.add({ ...place, run });
  }

  /** The end of a request that is better not sent; null when it is to be sent. */
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

  /** A request without an answer tells how long we waited, and not how long the server takes. */
  #remember(request: string, answer: Answer, latencyMs: number): void {
    if (answer.kind === "answer") {
      this.#latencies.add(request, { latencyMs, endedAtMs: this.#io.clock.monotonicMs() });
    }
  }

  /**
   * Whether a request is not worth sending: the process is cut off. One at a time is sent all the same, in case what
   * measures the way to the API server is mistaken.
   */
  #isHopeless(): boolean {
    return this.#io.reachability?.isCutOff === true && this.#queue.underWay > 1;
  }

  #learn(method: string, startedAtMs: number, answer: Answer): void {
    const overloaded = answer.kind === "lost" ? answer.timedOut : answer.status === 429;
    // A broken connection tells nothing about load.
    if (answer.kind === "lost" && !overloaded) return;
    const endedAtMs = this.#io.clock.monotonicMs();
    const atLimit = this.#queue.underWay >= Math.floor(this.#concurrency.limit);
    const experience = { method, startedAtMs, endedAtMs, overloaded, atLimit };
    this.#concurrency = concurrencyAfter(this.#concurrency, experience, this.#io.inFlightMax);
  }

  #admit(): boolean {
    if (this.#io.reachability?.isCutOff === true) return true;
    if (this.#queue.underWay >= Math.floor(this.#concurrency.limit)) return false;
    const { perSecondMax: perSecond, burst, clock } = this.#io;
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

function rankOf(urgency: Urgency, stepsBefore: number): number {
  return urgency * RANKS + stepsBefore;
}

function httpRequestOf(request: WriteRequest): HttpRequest {
  const { ref, subresource } = request;
  const path = subresource === undefined ? objectPath(ref) : `${objectPath(ref)}/${subresource}`;
  switch (request.verb) {
    case "create":
      return httpRequest("POST", collectionPath(ref.kind, ref.namespace), JSON_TYPE, request.body);
    case "update":
      return httpRequest("PUT", path, JSON_TYPE, request.body);
    case "patch":
      return httpRequest("PATCH", path, PATCH_TYPE[request.patch], request.body);
    case "delete":
      return httpRequest("DELETE", path, JSON_TYPE, deleteOptions(request));
  }
}

function httpRequest(method: string, path: string, type: string, body: unknown): HttpRequest {
  return { method, path, headers: { accept: JSON_TYPE, "content-type": type }, body: JSON.stringify(body) };
}

/** What is undefined is left out when it is written as JSON. */
function deleteOptions(request: Extract<WriteRequest, { verb: "delete" }>): Readonly<Record<string, unknown>> {
  const { uid, resourceVersion, gracePeriodSeconds } = request;
  const isAny = uid === undefined && resourceVersion === undefined;
  const preconditions = isAny ? undefined : { uid, resourceVersion };
  return { kind: "DeleteOptions", apiVersion: "v1", preconditions, gracePeriodSeconds };
}
