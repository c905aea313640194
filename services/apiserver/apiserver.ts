/** The embedded Kubernetes API: a store with the real server's verbs, behind a wire that is a function call. On its clock nothing waits. */
import type { Clock, HttpExchange, HttpRequest, Log, Random, Wire } from "../../protocols/ports.ts";
import { type Answer, failureAnswer } from "./answer.ts";
import { type Fault, Faults, refusalOf } from "./faults.ts";
import { Lists } from "./list.ts";
import type { ApiObject } from "./objects.ts";
import { coreResource, Registry } from "./registry.ts";
import { type Call, isCall, type OtherCall, readCall } from "./routes.ts";
import { ApiFailure, noSuchPath } from "./status.ts";
import { Store } from "./store.ts";
import { carryOut, type VerbParts } from "./verbs.ts";
import type { WatchStream } from "./watch.ts";

/** What an embedded API needs. */
export interface ApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Changes kept for each resource before older watches get 410. */
  readonly changesMax?: number;
  readonly bookmarkPeriodMs?: number;
}

const CHANGES_MAX = 65_536;
const BOOKMARK_PERIOD_MS = 60_000;

/** Namespaces of a new cluster. */
const FIRST_NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** One embedded API server. */
export class ApiServer {
  readonly store: Store;
  readonly registry: Registry;
  readonly faults: Faults;
  readonly wire: Wire = { send: (request, exchange) => this.#send(request, exchange) };
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
      this.registry.create(coreResource("namespaces"), "", namespace);
    }
  }

  /** Answers one request at once, without faults. */
  answer(request: HttpRequest): Answer {
    return this.#attempt(() => this.#carryOut(readCall(request)));
  }

  #carryOut(call: Call | OtherCall): Answer {
    if (isCall(call)) return carryOut(this.#parts, call);
    throw noSuchPath();
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

  #send(request: HttpRequest, exchange: HttpExchange): { abort(): void } {
    const delivery = new Delivery(exchange);
    this.#clock.soon(() => this.#receive(request, delivery));
    return { abort: () => delivery.abort() };
  }

  #receive(request: HttpRequest, delivery: Delivery): void {
    if (this.faults.refusing) {
      delivery.fail("connection refused", false);
      return;
    }
    const call = readCall(request);
    const faults = isCall(call) ? this.faults.meet(call) : [];
    const late = latencyOf(faults);
    const work = (): void => this.#workThrough(call, faults, delivery);
    if (late.requestMs > 0) this.#clock.after(late.requestMs, work);
    else work();
  }

  #workThrough(call: Call | OtherCall, faults: readonly Fault[], delivery: Delivery): void {
    if (faults.some((fault) => fault.kind === "stall")) return;
    if (faults.some((fault) => fault.kind === "lostRequest")) {
      delivery.fail("connection reset by peer", true);
      return;
    }
    const refusal = faults.find((fault) => fault.kind === "status");
    const answer =
      refusal === undefined ? this.#attempt(() => this.#carryOut(call)) : failureAnswer(refusalOf(refusal));
    const { answerMs } = latencyOf(faults);
    const deliver = (): void => {
      if (faults.some((fault) => fault.kind === "lostReply")) delivery.fail("connection reset by peer", true);
      else delivery.deliver(answer);
    };
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

/** The way of one answer to its exchange; after an abort nothing more arrives there. */
class Delivery {
  readonly #exchange: HttpExchange;
  #open = true;
  #stopStream: () => void = () => undefined;

  constructor(exchange: HttpExchange) {
    this.#exchange = exchange;
  }

  abort(): void {
    this.#open = false;
    this.#stopStream();
  }

  fail(message: string, sent: boolean): void {
    if (!this.#open) return;
    this.#open = false;
    this.#exchange.failed({ message, sent });
  }

  deliver({ status, headers, body }: Answer): void {
    if (!this.#open) return;
    this.#exchange.response(status, headers);
    if (typeof body === "object" && "open" in body) {
      const stream = body.open({
        data: (chunk) => this.#exchange.data(chunk),
        end: () => this.#exchange.end(),
        broken: () => this.fail("connection reset by peer", true),
      });
      this.#stopStream = () => stream.abort();
      stream.start();
      return;
    }
    for (const piece of typeof body === "string" ? [body] : body) this.#exchange.data(Buffer.from(piece));
    this.#exchange.end();
  }
}
