/** Faults that tests let the embedded API show: slow, refused, lost and stalled answers. It changes no object. */
import type { Random, Stop } from "../../protocols/ports.ts";
import type { Call } from "./routes.ts";
import { ApiFailure, tooManyRequests } from "./status.ts";

/** What goes wrong with a request. */
export type Fault =
  /** The request arrives late, or its answer does. */
  | { readonly kind: "latency"; readonly requestMs?: number; readonly answerMs?: number }
  /** The server refuses: 409 Conflict, 429 with Retry-After, 500, 503, 504. */
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

interface RunningPlan extends FaultPlan {
  left: number;
}

/** The faults in force. */
export class Faults {
  readonly #plans = new Set<RunningPlan>();
  readonly #random: Random;
  /** Whether connections are refused, as when no server runs. */
  refusing = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Puts a fault in force until it is stopped or used up. */
  add(plan: FaultPlan): Stop {
    const running = { ...plan, left: plan.times ?? Number.POSITIVE_INFINITY };
    this.#plans.add(running);
    return () => this.#plans.delete(running);
  }

  /** Takes every fault back. */
  clear(): void {
    this.#plans.clear();
    this.refusing = false;
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
}

const REASONS: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ["BadRequest", "the request is not understood"],
  403: ["Forbidden", "the request is forbidden"],
  409: ["Conflict", "the object has been modified; please apply your changes to the latest version and try again"],
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
