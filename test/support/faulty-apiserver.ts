/**
 * An embedded API with faults: slow, refused, lost and stalled responses, broken and stale watches, and a stale server
 * beside it. They change no object; `restore` of the API itself does.
 */
import type { Clock, Random, Stop } from "../../protocols/ports.ts";
import { type Answer, failureAnswer, type Receiver } from "../../services/sandbox/apiserver/answer.ts";
import { ApiFailure, STALE_VERSION } from "../../services/sandbox/apiserver/api-status.ts";
import { ApiServer, type ApiServerOptions } from "../../services/sandbox/apiserver/apiserver.ts";
import type { StorageName } from "../../services/sandbox/apiserver/resources.ts";
import { type Call, isCall, type OtherCall } from "../../services/sandbox/apiserver/routes.ts";
import type { StoreSnapshot } from "../../services/sandbox/apiserver/store/store.ts";

/** A fault of one request. */
export type Fault =
  /** The request or its response is delayed. */
  | { readonly kind: "latency"; readonly requestMs?: number; readonly answerMs?: number }
  /** The server carries requests out one after the other, each for so long. */
  | { readonly kind: "queue"; readonly workMs: (call: Call) => number }
  /**
   * The server refuses: 409 Conflict, 429 with Retry-After, 500, 503, 504; or an admission webhook denies, with 403 or
   * 400.
   */
  | { readonly kind: "status"; readonly code: number; readonly retryAfterSeconds?: number; readonly message?: string }
  /** The request is executed, then the connection breaks before the response. */
  | { readonly kind: "lostReply" }
  /** The connection breaks before the request is executed; the client cannot know. */
  | { readonly kind: "lostRequest" }
  /** The request is neither executed nor answered. */
  | { readonly kind: "stall" };

/** Which requests meet a fault. */
export interface FaultPlan {
  readonly fault: Fault;
  /** Selects requests; all when absent. */
  readonly when?: (call: Call) => boolean;
  /** The maximum number of times; unlimited when absent. */
  readonly times?: number;
  /** The probability, 0 to 1, for a selected request; 1 when absent. */
  readonly probability?: number;
}

/** The server as faults act on it. */
interface FaultReach extends Pick<RestorableApiServer, "compact" | "cutWatches"> {
  watches(): Iterable<{ readonly storage: StorageName; lag(ms: number): void }>;
  /** A server with the same objects that sees no later change. */
  standingStill(): Pick<ApiServer, "answerTo" | "cutWatches">;
}

/** A stale server, and the requests that meet it. */
interface StaleServer {
  readonly server: Pick<ApiServer, "answerTo" | "cutWatches">;
  readonly meets: (call: Call) => boolean;
}

interface RunningPlan extends FaultPlan {
  left: number;
}

/** The active faults. */
class Faults {
  readonly #plans = new Set<RunningPlan>();
  readonly #lagsMs = new Map<StorageName, number>();
  readonly #stale = new Set<StaleServer>();
  readonly #random: Random;
  readonly #reach: FaultReach;
  #refusing = false;

  constructor(random: Random, reach: FaultReach) {
    this.#random = random;
    this.#reach = reach;
  }

  /** Whether connections are refused, as without a server. */
  get refusing(): boolean {
    return this.#refusing;
  }

  /** Activates a fault until it is stopped or used up. */
  add(plan: FaultPlan): Stop {
    const running = { ...plan, left: plan.times ?? Number.POSITIVE_INFINITY };
    this.#plans.add(running);
    return () => this.#plans.delete(running);
  }

  /**
   * Disconnects the server from the network until the result is called: open watches break, new connections are
   * refused.
   */
  refuse(): Stop {
    this.#refusing = true;
    this.cutWatches({ how: "break" });
    return () => {
      this.#refusing = false;
    };
  }

  /** Ends open watches of one resource, or of all. */
  cutWatches(which: { storage?: StorageName; how?: "end" | "break" } = {}): void {
    this.#reach.cutWatches(which);
  }

  /**
   * Makes a resource's watches stale until the result is called: old and new ones stay open and send nothing. Changes
   * meanwhile are never sent, as by a cache that lost its own watch.
   */
  silenceWatches(storage: StorageName): Stop {
    return this.lagWatches(storage, Number.POSITIVE_INFINITY);
  }

  /** Makes the present watches of a resource silent for good: they stay open and send nothing. New ones work. */
  silenceOpenWatches(storage: StorageName): void {
    for (const watch of this.#reach.watches()) if (watch.storage === storage) watch.lag(Number.POSITIVE_INFINITY);
  }

  /** Makes a resource's watches late until the result is called, while its lists and reads are up to date. */
  lagWatches(storage: StorageName, lagMs: number): Stop {
    this.#lag(storage, lagMs);
    return () => this.#lag(storage, 0);
  }

  /** How late watches of a resource are, in milliseconds. */
  lagMs(storage: StorageName): number {
    return this.#lagsMs.get(storage) ?? 0;
  }

  /**
   * Adds a second API server behind the same address. Its watch cache stops from now on until the result is called.
   * Requests that reach it, by default all, are answered from that cache if a cache serves them: lists with
   * resourceVersion=0, and watches. Reads of the newest state and writes reach the store, and work.
   */
  staleServer(meets: (call: Call) => boolean = () => true): Stop {
    const stale = { server: this.#reach.standingStill(), meets };
    this.#stale.add(stale);
    return () => {
      this.#stale.delete(stale);
      stale.server.cutWatches();
    };
  }

  /** The stale server that answers a request; undefined for the one that is not stale. */
  staleServerFor(call: Call): Pick<ApiServer, "answerTo"> | undefined {
    const isCached = call.verb === "watch" || (call.verb === "list" && call.query.get("resourceVersion") === "0");
    if (!isCached) return undefined;
    return [...this.#stale].find(({ meets }) => meets(call))?.server;
  }

  /** Compacts the history: watches that resume from before now, and later pages of unfinished lists, get 410. */
  compact(): void {
    this.#reach.compact();
  }

  /** Stops every fault; broken watches stay broken. */
  clear(): void {
    this.#plans.clear();
    for (const storage of this.#lagsMs.keys()) this.#lag(storage, 0);
    for (const { server } of this.#stale) server.cutWatches();
    this.#stale.clear();
    this.#refusing = false;
  }

  /** The faults of this request; counts them. */
  meet(call: Call): Fault[] {
    if (this.#plans.size === 0) return [];
    const met: Fault[] = [];
    for (const plan of this.#plans) {
      if (plan.when?.(call) === false) continue;
      if (plan.probability !== undefined && this.#random() >= plan.probability) continue;
      met.push(plan.fault);
      plan.left -= 1;
      if (plan.left <= 0) this.#plans.delete(plan);
    }
    return met;
  }

  #lag(storage: StorageName, lagMs: number): void {
    if (lagMs > 0) this.#lagsMs.set(storage, lagMs);
    else this.#lagsMs.delete(storage);
    for (const watch of this.#reach.watches()) if (watch.storage === storage) watch.lag(lagMs);
  }
}

/** An embedded API server whose store can go back to an earlier state, as after a restore from a backup. */
class RestorableApiServer extends ApiServer {
  /** Drops history and unfinished lists: watches that resume from before now, and later pages of a list, get 410. */
  compact(): void {
    this.store.compact();
    this.lists.compact();
  }

  /** Every object as it is now, for `restore`. */
  snapshot(): StoreSnapshot {
    return this.store.snapshot();
  }

  /**
   * Restores the store from a snapshot: objects, resourceVersions, and no history from before. Open watches break, or
   * stay open and send nothing more. A watch resumed at a future version is accepted and sends nothing until then.
   * Example: the snapshot is at version 100 and a watch resumes at 140; its first event is that of version 141.
   */
  restore(snapshot: StoreSnapshot, { watches }: { readonly watches: "cut" | "silent" }): void {
    const definitions = () => this.store.collection("customresourcedefinitions").sorted("");
    const before = definitions();
    this.store.restore(snapshot);
    this.lists.compact();
    this.definitions.review([...before, ...definitions()].map(({ name }) => name));
    if (watches === "cut") this.cutWatches({ how: "break" });
    else for (const watch of this.watches) watch.detach();
  }
}

/** An embedded API server whose faults tests choose. */
export class FaultyApiServer extends RestorableApiServer {
  readonly faults: Faults;
  readonly #clock: Clock;
  /** When the queued requests are carried out, on the monotonic clock. */
  #idleAtMs = 0;

  constructor(options: ApiServerOptions) {
    super(options);
    this.#clock = options.clock;
    this.faults = new Faults(options.random, {
      watches: () => this.watches,
      compact: () => this.compact(),
      cutWatches: (which) => this.cutWatches(which),
      standingStill: () => {
        const server = new RestorableApiServer(options);
        server.restore(this.snapshot(), { watches: "cut" });
        return server;
      },
    });
  }

  protected override lagMs(storage: StorageName): number {
    return this.faults.lagMs(storage);
  }

  protected override serve(call: Call | OtherCall, work: () => Answer, receiver: Receiver): void {
    if (this.faults.refusing) {
      receiver.broken("connect ECONNREFUSED", false);
      return;
    }
    const faults = isCall(call) ? this.faults.meet(call) : [];
    const requestMs = latencyOf(faults).requestMs + (isCall(call) ? this.#queuedMs(faults, call) : 0);
    const stale = isCall(call) ? this.faults.staleServerFor(call) : undefined;
    const answer = stale === undefined ? work : () => stale.answerTo(call);
    const run = (): void => this.#workThrough(answer, faults, receiver);
    if (requestMs > 0) this.#clock.after(requestMs, run);
    else run();
  }

  /** How long a request takes with those before it that it queues behind. */
  #queuedMs(faults: readonly Fault[], call: Call): number {
    const nowMs = this.#clock.monotonicMs();
    for (const fault of faults) {
      if (fault.kind === "queue") this.#idleAtMs = Math.max(nowMs, this.#idleAtMs) + fault.workMs(call);
    }
    return faults.some(({ kind }) => kind === "queue") ? this.#idleAtMs - nowMs : 0;
  }

  #workThrough(work: () => Answer, faults: readonly Fault[], receiver: Receiver): void {
    const meets = (kind: Fault["kind"]): boolean => faults.some((fault) => fault.kind === kind);
    if (meets("stall")) return;
    if (meets("lostRequest")) {
      receiver.broken("read ECONNRESET", true);
      return;
    }
    const refusal = faults.find((fault) => fault.kind === "status");
    const answer = refusal === undefined ? work() : failureAnswer(refusalOf(refusal));
    const deliver = (): void => {
      if (meets("lostReply")) receiver.broken("read ECONNRESET", true);
      else receiver.answer(answer);
    };
    const { answerMs } = latencyOf(faults);
    if (answerMs > 0) this.#clock.after(answerMs, deliver);
    else deliver();
  }
}

function latencyOf(faults: readonly Fault[]): { requestMs: number; answerMs: number } {
  let [requestMs, answerMs] = [0, 0];
  for (const fault of faults) {
    if (fault.kind !== "latency") continue;
    requestMs += fault.requestMs ?? 0;
    answerMs += fault.answerMs ?? 0;
  }
  return { requestMs, answerMs };
}

const REASONS: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ["BadRequest", "the request is not understood"],
  403: ["Forbidden", "the request is forbidden"],
  409: ["Conflict", STALE_VERSION],
  410: ["Expired", "too old resource version"],
  429: ["TooManyRequests", "Too many requests, please try again later."],
  500: ["InternalError", "Internal error occurred: the store is not reachable"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: ["Timeout", "Timeout: request did not complete within the requested timeout"],
};

/** The response of a `status` fault, as the real server words it. */
function refusalOf(fault: Extract<Fault, { kind: "status" }>): ApiFailure {
  const { code, retryAfterSeconds = 0 } = fault;
  const [reason, message] = REASONS[code] ?? ["Unknown", "unknown"];
  const details = retryAfterSeconds > 0 ? { details: { retryAfterSeconds } } : {};
  return new ApiFailure({ code, reason, message: fault.message ?? message, ...details });
}
