/**
 * The embedded Kubernetes API: a store with the real server's verbs, behind a wire that is a function call. It runs on
 * any clock; http-front.ts serves it on sockets.
 */
import type { Clock, HttpRequest, Io, Log, Wire } from "../../../protocols/ports.ts";
import { type Answer, failureAnswer, type Receiver } from "./answer.ts";
import type { ApiObject } from "./api-objects.ts";
import { ApiFailure, unauthorized } from "./api-status.ts";
import { type Serve, wireTo } from "./embedded-wire.ts";
import { type Fault, Faults, refusalOf } from "./faults.ts";
import { carryOut, type VerbParts } from "./http/api-verbs.ts";
import { discover } from "./http/discovery.ts";
import type { WatchStream } from "./http/watch-stream.ts";
import { storedAs } from "./resources.ts";
import { type Call, isCall, type OtherCall, readCall } from "./routes.ts";
import { Lists } from "./store/list-pages.ts";
import { Registry } from "./store/registry.ts";
import { Store } from "./store/store.ts";

/** Ports and limits of an embedded API. */
export interface ApiServerOptions extends Pick<Io, "clock" | "random"> {
  readonly log?: Log;
  /** Changes kept for each resource; a watch from before them gets 410. */
  readonly changesMax?: number;
  readonly bookmarkPeriodMs?: number;
}

const CHANGES_MAX = 65_536;
const BOOKMARK_PERIOD_MS = 60_000;

/** The namespaces of a new cluster. */
const FIRST_NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Paths that probes may request without a token. */
const OPEN_PATHS = ["/healthz", "/livez", "/readyz", "/version"];

/** The bearer token to accept; null admits every request. */
type Access = string | null;

/** One embedded API server. */
export class ApiServer {
  readonly store: Store;
  readonly registry: Registry;
  readonly faults: Faults;
  readonly wire: Wire;
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  readonly #parts: VerbParts;

  constructor({ clock, random, log, changesMax, bookmarkPeriodMs }: ApiServerOptions) {
    this.#clock = clock;
    this.#log = log;
    this.store = new Store({ changesMax: changesMax ?? CHANGES_MAX });
    this.registry = new Registry({ store: this.store, clock, random });
    const lists = new Lists(this.store);
    const watches = new Set<WatchStream>();
    const compact = (): void => {
      this.store.compact();
      lists.compact();
    };
    this.wire = wireTo(this.serving(null), clock);
    this.faults = new Faults(random, { watches: () => watches, compact });
    this.#parts = {
      store: this.store,
      registry: this.registry,
      lists,
      clock,
      random,
      watches,
      isSilent: (storage) => this.faults.isSilent(storage),
      bookmarkPeriodMs: bookmarkPeriodMs ?? BOOKMARK_PERIOD_MS,
    };
    for (const name of FIRST_NAMESPACES) {
      const namespace: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      this.registry.create(storedAs("namespaces"), "", namespace);
    }
  }

  /** Serves requests that `access` admits; requests on `wire` need no token. */
  serving(access: Access): Serve {
    return (request, receiver) => this.#clock.soon(() => this.#receive(request, access, receiver));
  }

  #receive(request: HttpRequest, access: Access, receiver: Receiver): void {
    if (this.faults.refusing) {
      receiver.broken("connect ECONNREFUSED", false);
      return;
    }
    const call = readCall(request);
    const faults = isCall(call) ? this.faults.meet(call) : [];
    const { requestMs } = latencyOf(faults);
    const work = (): void => this.#workThrough(() => this.#carryOut(call, access), faults, receiver);
    if (requestMs > 0) this.#clock.after(requestMs, work);
    else work();
  }

  #workThrough(work: () => Answer, faults: readonly Fault[], receiver: Receiver): void {
    if (faults.some((fault) => fault.kind === "stall")) return;
    if (faults.some((fault) => fault.kind === "lostRequest")) {
      receiver.broken("read ECONNRESET", true);
      return;
    }
    const refusal = faults.find((fault) => fault.kind === "status");
    const answer = refusal === undefined ? this.#attempt(work) : failureAnswer(refusalOf(refusal));
    const deliver = (): void => {
      if (faults.some((fault) => fault.kind === "lostReply")) receiver.broken("read ECONNRESET", true);
      else receiver.answer(answer);
    };
    const { answerMs } = latencyOf(faults);
    if (answerMs > 0) this.#clock.after(answerMs, deliver);
    else deliver();
  }

  #carryOut(call: Call | OtherCall, access: Access): Answer {
    const isOpen = access === null || (!isCall(call) && OPEN_PATHS.includes(call.path));
    if (!isOpen && /^Bearer\s+(\S+)$/i.exec(call.headers.authorization ?? "")?.[1] !== access) throw unauthorized();
    return isCall(call) ? carryOut(this.#parts, call) : discover(call);
  }

  #attempt(work: () => Answer): Answer {
    try {
      return work();
    } catch (problem) {
      if (problem instanceof ApiFailure) return failureAnswer(problem);
      this.#log?.error("request failed", { problem: String(problem) });
      const message = `Internal error occurred: ${String(problem)}`;
      return failureAnswer(new ApiFailure({ code: 500, reason: "InternalError", message }));
    }
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
