/**
 * The embedded Kubernetes API: a store with the real server's verbs, behind a wire that is a function call. It runs on
 * any clock; http-front.ts serves it on sockets.
 */
import type { Clock, HttpRequest, Io, Log, Wire } from "../../../protocols/ports.ts";
import { type Answer, failureAnswer, type Receiver } from "./answer.ts";
import type { ApiObject } from "./api-objects.ts";
import { ApiFailure, unauthorized, unsupportedMediaType } from "./api-status.ts";
import { Definitions } from "./custom/definitions.ts";
import { type Serve, wireTo } from "./embedded-wire.ts";
import { carryOut, type VerbParts } from "./http/api-verbs.ts";
import { contentTypeOf } from "./http/bodies.ts";
import { discover } from "./http/discovery.ts";
import type { WatchStream } from "./http/watch-stream.ts";
import { ResourceCatalog } from "./resource-catalog.ts";
import { type StorageName, storedAs } from "./resources.ts";
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

const PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf";

/** The bearer token to accept; null admits every request. */
type Access = string | null;

/** One embedded API server. */
export class ApiServer {
  readonly catalog = new ResourceCatalog();
  readonly store: Store;
  readonly registry: Registry;
  readonly wire: Wire;
  protected readonly watches: ReadonlySet<WatchStream>;
  protected readonly lists: Lists;
  protected readonly definitions: Definitions;
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  readonly #parts: VerbParts;

  constructor({ clock, random, log, changesMax, bookmarkPeriodMs }: ApiServerOptions) {
    this.#clock = clock;
    this.#log = log;
    this.store = new Store({ changesMax: changesMax ?? CHANGES_MAX });
    this.registry = new Registry({ store: this.store, clock, random });
    this.lists = new Lists(this.store);
    const watches = new Set<WatchStream>();
    this.watches = watches;
    this.wire = wireTo(this.serving(null), clock);
    this.#parts = {
      store: this.store,
      registry: this.registry,
      lists: this.lists,
      clock,
      random,
      watches,
      lagMs: (storage) => this.lagMs(storage),
      bookmarkPeriodMs: bookmarkPeriodMs ?? BOOKMARK_PERIOD_MS,
    };
    const { store, registry } = this;
    const cut = (storage: StorageName): void => this.cutWatches({ storage });
    this.definitions = new Definitions({ store, registry, clock, catalog: this.catalog, cut });
    this.definitions.start();
    for (const name of FIRST_NAMESPACES) {
      const namespace: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      this.registry.create(storedAs("namespaces"), "", namespace);
    }
  }

  /** Serves requests that `access` admits; requests on `wire` need no token. */
  serving(access: Access): Serve {
    return (request, receiver) => this.#clock.soon(() => this.#receive(request, access, receiver));
  }

  /** Answers a request that needs no token. */
  answerTo(call: Call | OtherCall): Answer {
    return this.#attempt(() => this.#carryOut(call, null));
  }

  /** Ends open watches of one resource or of all: `end` in order, `break` like a cut cable. */
  cutWatches({ storage, how = "end" }: { storage?: StorageName; how?: "end" | "break" } = {}): void {
    for (const watch of this.watches) if (storage === undefined || watch.storage === storage) watch.cut(how);
  }

  /** Answers a request by `work`, which throws nothing; tests inject faults here. */
  protected serve(_call: Call | OtherCall, work: () => Answer, receiver: Receiver): void {
    receiver.answer(work());
  }

  /** How late new watches of a resource are, in milliseconds; tests make them stale. */
  protected lagMs(_storage: StorageName): number {
    return 0;
  }

  #receive(request: HttpRequest, access: Access, receiver: Receiver): void {
    const call = readCall(request, this.catalog);
    this.serve(call, () => this.#attempt(() => this.#carryOut(call, access)), receiver);
  }

  #carryOut(call: Call | OtherCall, access: Access): Answer {
    const isOpen = access === null || (!isCall(call) && OPEN_PATHS.includes(call.path));
    if (!isOpen && /^Bearer\s+(\S+)$/i.exec(call.headers.authorization ?? "")?.[1] !== access) throw unauthorized();
    if (contentTypeOf(call.headers) === PROTOBUF_TYPE) throw unsupportedMediaType(["application/json"]);
    return isCall(call) ? carryOut(this.#parts, call) : discover(call, this.catalog.all);
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
