/**
 * Faults that tests let the embedded API show: slow, refused, lost and stalled answers, broken and stale watches. It
 * changes no object.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { ApiFailure, STALE_VERSION, tooManyRequests } from "./api-status.ts";
import type { StorageName } from "./resources.ts";
import type { Call } from "./routes.ts";

/** What goes wrong with a request. */
export type Fault =
  /** The request arrives late, or its answer does. */
  | { readonly kind: "latency"; readonly requestMs?: number; readonly answerMs?: number }
  /**
   * The server refuses: 409 Conflict, 429 with Retry-After, 500, 503, 504; or a denial by an admission webhook, 403 or
   * 400.
   */
  | { readonly kind: "status"; readonly code: number; readonly retryAfterSeconds?: number; readonly message?: string }
  /** The request is carried out, then the connection breaks before the answer. */
  | { readonly kind: "lostReply" }
  /** The connection breaks before the request is carried out; the client cannot know. */
  | { readonly kind: "lostRequest" }
  /** Nothing is carried out and nothing is answered. */
  | { readonly kind: "stall" };

/** When a fault shows. */
export interface FaultPlan {
  readonly fault: Fault;
  /** Which requests; all of them when absent. */
  readonly when?: (call: Call) => boolean;
  /** How often at most; without end when absent. */
  readonly times?: number;
  /** The chance, 0 to 1, that a request it concerns meets it; always when absent. */
  readonly probability?: number;
}

/** What faults need to know of an open watch. */
export interface FaultyWatch {
  readonly storage: StorageName;
  /** Ends it: `end` in order, as a server that goes down does, `break` as a cut cable. */
  cut(how: "end" | "break"): void;
  silence(silent: boolean): void;
}

/** What faults reach beyond requests. */
export interface FaultReach {
  watches(): Iterable<FaultyWatch>;
  /** Forgets history and unfinished lists. */
  compact(): void;
}

interface RunningPlan extends FaultPlan {
  left: number;
}

/** The faults in force. */
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

  /** Whether connections are refused, as when no server runs. */
  get refusing(): boolean {
    return this.#refusing;
  }

  /** Puts a fault in force until it is stopped or used up. */
  add(plan: FaultPlan): Stop {
    const running = { ...plan, left: plan.times ?? Number.POSITIVE_INFINITY };
    this.#plans.add(running);
    return () => this.#plans.delete(running);
  }

  /**
   * Takes the server off the network: open watches break and new connections are refused, until the result is called.
   */
  refuse(): Stop {
    this.#refusing = true;
    this.cutWatches({ how: "break" });
    return () => {
      this.#refusing = false;
    };
  }

  /** Ends open watches: of one resource, or all. */
  cutWatches({ storage, how = "end" }: { storage?: StorageName; how?: "end" | "break" } = {}): void {
    for (const watch of this.#reach.watches()) {
      if (storage === undefined || watch.storage === storage) watch.cut(how);
    }
  }

  /**
   * Makes a resource's watches stale: they and new ones stay open and tell nothing, until the result is called. What
   * happened meanwhile is never told, as by a cache that lost its own watch.
   */
  silenceWatches(storage: StorageName): Stop {
    this.#silence(storage, true);
    return () => this.#silence(storage, false);
  }

  /** Whether watches of a resource are stale. */
  isSilent(storage: StorageName): boolean {
    return this.#silenced.has(storage);
  }

  /** Compacts: watches that resume from before now, and the next pages of unfinished lists, get 410. */
  compact(): void {
    this.#reach.compact();
  }

  /** Takes every fault back; broken watches stay broken. */
  clear(): void {
    this.#plans.clear();
    for (const storage of this.#silenced) this.#silence(storage, false);
    this.#refusing = false;
  }

  /** The faults that this request meets; counts them. */
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

/** The refusal of a `status` fault as the real server words it. */
export function refusalOf(fault: Extract<Fault, { kind: "status" }>): ApiFailure {
  const { code, retryAfterSeconds = 0 } = fault;
  if (code === 429) {
    return tooManyRequests(fault.message ?? "Too many requests, please try again later.", retryAfterSeconds);
  }
  const [reason, message] = REASONS[code] ?? ["Unknown", "unknown"];
  const details = retryAfterSeconds > 0 ? { details: { retryAfterSeconds } } : {};
  return new ApiFailure({ code, reason, message: fault.message ?? message, ...details });
}
