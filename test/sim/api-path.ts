/**
 * The network path between one process and the API server. It can be cut in several ways, and it can be slow. Delayed
 * traffic arrives later, in order, or never. The path outlives the process, because a restart repairs no network.
 */
import type { Clock, HttpExchange, HttpRequest, Random, Stop, Wire } from "../../protocols/ports.ts";
import { ResourceCatalog } from "../../services/sandbox/apiserver/resource-catalog.ts";
import { isCall, readCall, type Verb } from "../../services/sandbox/apiserver/routes.ts";

/** An interruption that has ended, on the world's monotonic clock. */
export interface Interruption {
  readonly endedMs: number;
  readonly lastedMs: number;
}

/**
 * How a path is cut. `requests`: no request reaches the server, and open watches continue. `replies`: requests are
 * carried out, and no reply arrives. `silent`: both, so open watches stay open without events. `refused`: connections
 * break at once, and new ones are refused.
 */
export const API_CUTS = ["requests", "replies", "silent", "refused"] as const;
/** One way to cut a path. */
export type ApiCut = (typeof API_CUTS)[number];

/** How long requests last, by verb, in milliseconds. An absent verb has its usual speed. */
export type Latencies = Readonly<Partial<Record<Verb, number>>>;

/** Longest latency of a request, in milliseconds. */
export const LATENCY_MAX_MS = 5_000;
/** The client gives up a write after 15 s and a read after 10 s. Until then a delayed request may still arrive. */
const BUILT_IN = new ResourceCatalog();
const HELD_MAX_MS = 25_000;
/** A request that lasts this long counts as slow in the marks. */
const SLOW_MS = 2_000;

/** An API server with a stale cache: the request as the server rewrites it, null where it answers as usual. */
export type StaleReplica = (request: HttpRequest) => HttpRequest | null;

/** The parts of a path. */
export interface ApiPathOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Counts a situation that the run is meant to reach. */
  readonly count: (situation: string) => void;
}

/** The path of one process. */
export class ApiPath {
  readonly options: ApiPathOptions;
  readonly #connections = new Set<Connection>();
  #cut: ApiCut | null = null;
  #latencies: Latencies = {};
  #replica: StaleReplica | null = null;
  #staleShare = 1;
  /** How far watches are behind, in milliseconds. */
  watchLagMs = 0;
  /** How much of a request's latency lies before the server carries it out, from 0 to 1. */
  shareBefore = 0.5;
  /** The last interval in which watches delivered nothing; null before. */
  lastSilence: Interruption | null = null;
  /** When the last cut and the last slowness ended; infinite while they last. */
  #cutUntilMs = Number.NEGATIVE_INFINITY;
  #slowUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ApiPathOptions) {
    this.options = options;
  }

  get cut(): ApiCut | null {
    return this.#cut;
  }

  /** Cuts the path. The returned function repairs it: connections continue where they stopped, or break. */
  sever(cut: ApiCut): (outcome: "goOn" | "break") => void {
    const { count, clock } = this.options;
    count(`API cut: ${cut}`);
    this.#cut = cut;
    this.#cutUntilMs = Number.POSITIVE_INFINITY;
    const beganMs = clock.monotonicMs();
    if (cut === "refused") this.breakConnections();
    return (outcome) => {
      this.#cut = null;
      this.#cutUntilMs = clock.monotonicMs();
      // Open watches continue where only requests are delayed.
      if (cut !== "requests") this.lastSilence = { endedMs: this.#cutUntilMs, lastedMs: this.#cutUntilMs - beganMs };
      if (outcome === "break") this.breakConnections();
      else this.#goOn();
    };
  }

  /** Whether watches deliver nothing now, because the server behind the path is stale. */
  get isStale(): boolean {
    return this.#replica !== null;
  }

  /**
   * Connects the path to a server with a stale cache: lists from the cache are old, and watches deliver nothing until
   * the returned function lets the server catch up. Reads and lists that require the newest state get it, as the API
   * guarantees. With a `share` below 1, a load balancer routes only that share of the new connections there.
   */
  leadTo(replica: StaleReplica, share = 1): Stop {
    this.#replica = replica;
    this.#staleShare = share;
    return () => {
      this.#replica = null;
      this.#goOn();
    };
  }

  /** Makes requests slow. The returned function ends it. */
  slow(latencies: Latencies): Stop {
    this.#latencies = latencies;
    this.#slowUntilMs = Number.POSITIVE_INFINITY;
    return () => {
      this.#latencies = {};
      this.#slowUntilMs = this.options.clock.monotonicMs();
    };
  }

  /** Resets every open connection. */
  breakConnections(): void {
    for (const connection of this.#present()) connection.reset();
  }

  /** Ends the process and its connections. A request that was sent is carried out all the same. */
  closeConnections(): void {
    for (const connection of this.#present()) connection.leave();
  }

  /**
   * How long at most the path can delay a read and the write that rests on it, in milliseconds. When the server carries
   * out the write, the read may be this old.
   */
  delayMaxMs(nowMs: number): number {
    const isRecent = (untilMs: number): boolean => nowMs - untilMs < HELD_MAX_MS;
    return (isRecent(this.#cutUntilMs) ? HELD_MAX_MS : 0) + (isRecent(this.#slowUntilMs) ? HELD_MAX_MS : 0);
  }

  /** The wire over this path. */
  over(wire: Wire): Wire {
    return {
      send: (request, exchange) => {
        const isFresh = this.#staleShare < 1 && this.#replica !== null && this.options.random() >= this.#staleShare;
        const led = isFresh ? request : (this.#replica?.(request) ?? request);
        const connection = new Connection({ path: this, request: led, isFresh, exchange }, () =>
          this.#connections.delete(connection),
        );
        this.#connections.add(connection);
        connection.start(wire, this.#latencyOf(request));
        return { abort: () => connection.abort() };
      },
    };
  }

  /** Delivers what was held, unless something else still holds it. */
  #goOn(): void {
    for (const connection of this.#present()) connection.goOn();
  }

  /** The present connections: a reset makes the client open others at once. */
  #present(): Connection[] {
    return [...this.#connections];
  }

  #latencyOf(request: HttpRequest): number {
    const call = readCall(request, BUILT_IN);
    const mostMs = isCall(call) ? (this.#latencies[call.verb] ?? 0) : 0;
    if (mostMs === 0) return 0;
    const latencyMs = mostMs * (0.7 + 0.3 * this.options.random());
    if (latencyMs >= SLOW_MS && isCall(call)) this.options.count(`slow ${call.verb}`);
    return latencyMs;
  }
}

/** A request, and where it leads. */
interface ConnectionParts {
  readonly path: ApiPath;
  readonly request: HttpRequest;
  /** Whether a load balancer has led it past the stale server. */
  readonly isFresh: boolean;
  readonly exchange: HttpExchange;
}

/** One request and its answer under way. */
class Connection {
  readonly #path: ApiPath;
  readonly #request: HttpRequest;
  readonly #exchange: HttpExchange;
  readonly #closed: () => void;
  readonly #isFresh: boolean;
  readonly #isWatch: boolean;
  /** The delayed traffic of the path, in order. */
  readonly #held: (() => void)[] = [];
  #abortInner: () => void = () => {};
  /** Parts of the answer that are under way. */
  #underWay = 0;
  #dueMs = 0;
  #isOpen = true;
  /** Whether the sending process is dead: the request arrives, and no process waits for its answer. */
  #isOrphaned = false;

  constructor({ path, request, isFresh, exchange }: ConnectionParts, closed: () => void) {
    this.#path = path;
    this.#request = request;
    this.#isFresh = isFresh;
    this.#exchange = exchange;
    this.#closed = closed;
    this.#isWatch = request.path.includes("watch=");
  }

  /** Sends the request. A part of the latency comes before the server carries it out, the rest after. */
  start(wire: Wire, latencyMs: number): void {
    const { options, shareBefore } = this.#path;
    const { clock } = options;
    const depart = (): void => this.#depart(wire);
    this.#dueMs = clock.monotonicMs() + latencyMs;
    if (latencyMs > 0) clock.after(latencyMs * shareBefore, depart);
    else if (this.#path.cut === "refused") clock.soon(depart);
    else depart();
  }

  /** Delivers what was held, unless something else still holds it. */
  goOn(): void {
    for (const pass of this.#held.splice(0)) pass();
  }

  reset(): void {
    this.#end(() => this.#exchange.failed({ message: "read ECONNRESET", sent: true }));
    this.#abortInner();
  }

  abort(): void {
    this.#end(() => {});
    this.#abortInner();
  }

  leave(): void {
    // A request that a cut delays was not sent.
    this.#isOrphaned = !this.#isWatch && this.#held.length === 0;
    this.#end(() => {});
    if (this.#isWatch) this.#abortInner();
  }

  #depart(wire: Wire): void {
    const { cut, options } = this.#path;
    if (!this.#isOpen && !this.#isOrphaned) return;
    if (cut === "refused") {
      this.#end(() => this.#exchange.failed({ message: "connect ECONNREFUSED", sent: false }));
      return;
    }
    if (cut === "requests" || cut === "silent") {
      options.count("request held up by a cut");
      this.#held.push(() => this.#depart(wire));
      return;
    }
    const exchange = this.#exchange;
    const sent = wire.send(this.#request, {
      response: (status, headers) => this.#arrive(() => exchange.response(status, headers)),
      data: (chunk) => this.#arrive(() => exchange.data(chunk), "data"),
      end: () => this.#arrive(() => this.#end(() => exchange.end())),
      failed: (problem) => this.#arrive(() => this.#end(() => exchange.failed(problem))),
    });
    this.#abortInner = () => sent.abort();
  }

  /** Accepts a part of the answer at the server's end of the path. */
  #arrive(piece: () => void, part: "data" | "frame" = "frame"): void {
    const { clock } = this.#path.options;
    const nowMs = clock.monotonicMs();
    if (part === "data" && this.#isWatch && this.#path.watchLagMs > 0) {
      this.#dueMs = Math.max(this.#dueMs, nowMs + this.#path.watchLagMs);
      this.#path.options.count("watch lagged behind");
    }
    const leftMs = this.#dueMs - nowMs;
    if (leftMs <= 0 && this.#underWay === 0) {
      this.#deliver(piece, part);
      return;
    }
    this.#underWay += 1;
    clock.after(leftMs, () => {
      this.#underWay -= 1;
      this.#deliver(piece, part);
    });
  }

  #deliver(piece: () => void, part: "data" | "frame"): void {
    const { cut, isStale, options } = this.#path;
    if (!this.#isOpen) return;
    const isCut = cut === "replies" || cut === "silent";
    if (isCut) options.count(this.#isWatch ? "watch held up by a cut" : "reply held up by a cut");
    const isOld = isStale && !this.#isFresh && this.#isWatch && part === "data";
    if (isOld) options.count("watch of a stale replica");
    // Parts behind a delayed part wait for it.
    if (isCut || isOld || this.#held.length > 0) this.#held.push(() => this.#deliver(piece, part));
    else piece();
  }

  #end(last: () => void): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#held.length = 0;
    this.#closed();
    last();
  }
}
