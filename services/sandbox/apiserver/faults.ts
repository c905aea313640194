/**
 * Faults that tests inject into the embedded API: slow, refused, lost and stalled responses, broken and stale watches.
 * They change no object.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { ApiFailure, STALE_VERSION, tooManyRequests } from "./api-status.ts";
import type { StorageName } from "./resources.ts";
import type { Call } from "./routes.ts";

/** A fault of one request. */
export type Fault =
  /** The request or its response is delayed. */
  | { readonly kind: "latency"; readonly requestMs?: number; readonly answerMs?: number }
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

/** An open watch as faults use it. */
export interface FaultyWatch {
  readonly storage: StorageName;
  /** Ends it: `end` in order, as a server that shuts down; `break` like a cut cable. */
  cut(how: "end" | "break"): void;
  silence(silent: boolean): void;
}

/** The parts of the server that faults act on. */
export interface FaultReach {
  watches(): Iterable<FaultyWatch>;
  /** Drops history and unfinished lists. */
  compact(): void;
}

interface RunningPlan extends FaultPlan {
  left: number;
}

/** The active faults. */
export class Faults {
  readonly #plans = new Set<RunningPlan>();
  readonly #silenced = new Set<StorageName>();
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

  /** Takes the server off the network until the result is called: open watches break, new connections are refused. */
  refuse(): Stop {
    this.#refusing = true;
    this.cutWatches({ how: "break" });
    return () => {
      this.#refusing = false;
    };
  }

  /** Ends open watches of one resource, or of all. */
  cutWatches({ storage, how = "end" }: { storage?: StorageName; how?: "end" | "break" } = {}): void {
    for (const watch of this.#reach.watches()) {
      if (storage === undefined || watch.storage === storage) watch.cut(how);
    }
  }

  /**
   * Makes a resource's watches stale until the result is called: old and new ones stay open and send nothing. Changes
   * meanwhile are never sent, as by a cache that lost its own watch.
   */
  silenceWatches(storage: StorageName): Stop {
    this.#silence(storage, true);
    return () => this.#silence(storage, false);
  }

  /** Whether watches of a resource are stale. */
  isSilent(storage: StorageName): boolean {
    return this.#silenced.has(storage);
  }

  /** Compacts the history: watches that resume from before now, and later pages of unfinished lists, get 410. */
  compact(): void {
    this.#reach.compact();
  }

  /** Stops every fault; broken watches stay broken. */
  clear(): void {
    this.#plans.clear();
    for (const storage of this.#silenced) this.#silence(storage, false);
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

  #silence(storage: StorageName, silent: boolean): void {
    if (silent) this.#silenced.add(storage);
    else this.#silenced.delete(storage);
    for (const watch of this.#reach.watches()) if (watch.storage === storage) watch.silence(silent);
  }
}

const REASONS: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ["BadRequest", "the request is not understood"],
  403: ["Forbidden", "the request is forbidden"],
  409: ["Conflict", STALE_VERSION],
  410: ["Expired", "too old resource version"],
  500: ["InternalError", "Internal error occurred: the store is not reachable"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: ["Timeout", "Timeout: request did not complete within the requested timeout"],
};

/** The response of a `status` fault, as the real server words it. */
export function refusalOf(fault: Extract<Fault, { kind: "status" }>): ApiFailure {
  const { code, retryAfterSeconds = 0 } = fault;
  if (code === 429) {
    return tooManyRequests(fault.message ?? "Too many requests, please try again later.", retryAfterSeconds);
  }
  const [reason, message] = REASONS[code] ?? ["Unknown", "unknown"];
  const details = retryAfterSeconds > 0 ? { details: { retryAfterSeconds } } : {};
  return new ApiFailure({ code, reason, message: fault.message ?? message, ...details });
}
