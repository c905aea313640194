/** Executes a parsed request: reads or writes what its verb says, and renders the result. */
import type { Io } from "../../../../protocols/ports.ts";
import { type Answer, jsonAnswer, objectAnswer } from "../answer.ts";
import { type ApiObject, childObject, textOf } from "../api-objects.ts";
import { methodNotAllowed, noSuchPath } from "../api-status.ts";
import { isApply, patchIn } from "../patch/patches.ts";
import type { Place, StorageName } from "../resources.ts";
import type { Call } from "../routes.ts";
import { bindPod } from "../store/binding.ts";
import type { DeleteOptions } from "../store/deletion.ts";
import { evictPod } from "../store/eviction.ts";
import { integerIn, type Lists, versionIn } from "../store/list-pages.ts";
import { checkAbsent } from "../store/refusals.ts";
import type { Deletion, Registry } from "../store/registry.ts";
import { type Selection, selectionOf } from "../store/selection.ts";
import type { Store } from "../store/store.ts";
import type { Stored } from "../store/stored.ts";
import { strategyOf } from "../store/strategy.ts";
import { rendererFor } from "../views/negotiation.ts";
import type { Renderer } from "../views/render.ts";
import { deleteOptionsIn, evictionOptionsIn, objectBody, objectIn } from "./bodies.ts";
import { type WatchOptions, WatchStream } from "./watch-stream.ts";

/** The parts of the server that the verbs use. */
export interface VerbParts extends Pick<Io, "clock" | "random"> {
  readonly store: Store;
  readonly registry: Registry;
  readonly lists: Lists;
  /** Every open watch; the verbs add to it, and a watch that ends removes itself. */
  readonly watches: Set<WatchStream>;
  /** How late new watches of a collection are, in milliseconds. */
  lagMs(storage: StorageName): number;
  /** The bookmark period of a watch that requests bookmarks. */
  readonly bookmarkPeriodMs: number;
}

/** The real server's --min-request-timeout: a watch without a timeout ends after one to two times this. */
const WATCH_TIMEOUT_MS = 1_800_000;

/** Executes a call. Throws an ApiFailure. */
export function carryOut(parts: VerbParts, call: Call): Answer {
  return new Verbs(parts, call).answer();
}

/** One call during its execution. */
class Verbs {
  readonly #parts: VerbParts;
  readonly #call: Call;
  readonly #place: Place;
  readonly #renderer: Renderer;
  readonly #registry: Registry;

  constructor(parts: VerbParts, call: Call) {
    this.#parts = parts;
    this.#call = call;
    this.#place = { resource: call.resource, namespace: call.namespace, name: call.name };
    this.#registry = call.query.has("dryRun") ? parts.registry.dry() : parts.registry;
    this.#renderer = rendererFor(call, () => parts.clock.wallMs());
  }

  answer(): Answer {
    const { subresource, resource, verb } = this.#call;
    if (subresource !== "" && subresource !== "status") return this.#postToPod();
    if (subresource === "status" && !resource.hasStatus) throw noSuchPath();
    if (subresource === "status" && verb === "delete") throw methodNotAllowed();
    switch (verb) {
      case "get":
        this.#parts.lists.checkVersion(versionIn(this.#call.query));
        return this.#shown(this.#registry.find(this.#place), 200);
      case "list":
        return jsonAnswer(200, this.#renderer.list(this.#parts.lists.page(this.#selection(), this.#call.query)));
      case "watch":
        return this.#watch();
      case "create":
        return this.#create();
      case "update":
        return this.#update();
      case "patch":
        return this.#patch();
      case "delete":
        return this.#delete();
      case "deletecollection":
        return this.#deleteAll();
      case "unsupported":
        throw methodNotAllowed();
    }
  }

  #shown(stored: Stored, status: number): Answer {
    return jsonAnswer(status, this.#renderer.one(stored));
  }

  #selection(): Selection {
    return selectionOf(this.#call.resource, this.#call.namespace, this.#call.query);
  }

  #part(): "main" | "status" {
    return this.#call.subresource === "status" ? "status" : "main";
  }

  #create(): Answer {
    const { resource, namespace, name } = this.#call;
    if (name !== "" || (resource.namespaced && namespace === "")) throw methodNotAllowed();
    return this.#shown(this.#registry.create(resource, namespace, objectIn(this.#call)), 201);
  }

  #update(): Answer {
    const object = objectIn(this.#call);
    if (!this.#exists()) {
      checkAbsent(this.#place, object.metadata);
      if (strategyOf(this.#call.resource).createsOnUpdate) return this.#createNamed(object);
    }
    return this.#shown(this.#registry.replace(this.#place, this.#part(), object), 200);
  }

  #patch(): Answer {
    const change = patchIn(this.#call);
    if (isApply(this.#call) && !this.#exists()) {
      const object = objectIn(this.#call);
      checkAbsent(this.#place, object.metadata);
      return this.#createNamed(object);
    }
    return this.#shown(this.#registry.update(this.#place, this.#part(), change, "patch"), 200);
  }

  #exists(): boolean {
    const { resource, namespace, name } = this.#place;
    return this.#parts.store.collection(resource.storage).get(namespace, name) !== undefined;
  }

  /** Creates the object that an update or apply names. */
  #createNamed(object: ApiObject): Answer {
    const { resource, namespace, name } = this.#place;
    object.metadata.name = name;
    delete object.metadata.resourceVersion;
    return this.#shown(this.#registry.create(resource, namespace, object), 201);
  }

  #delete(): Answer {
    const { resource } = this.#call;
    const { stored, gone } = this.#deleteAt(this.#place, deleteOptionsIn(this.#call));
    if (!gone || strategyOf(resource).returnsDeleted) return this.#shown(stored, 200);
    const group = resource.group === "" ? {} : { group: resource.group };
    const details = { name: stored.name, ...group, kind: resource.plural, uid: stored.uid };
    return objectAnswer(200, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
  }

  #deleteAt(place: Place, options: DeleteOptions): Deletion {
    return (options.dryRun ? this.#registry.dry() : this.#registry).delete(place, options);
  }

  #deleteAll(): Answer {
    const { resource, namespace } = this.#call;
    // A collection cannot be deleted across namespaces, and namespaces cannot be at all.
    if (resource.namespaced ? namespace === "" : resource.storage === "namespaces") throw methodNotAllowed();
    const options = deleteOptionsIn(this.#call);
    const page = this.#parts.lists.page(this.#selection(), new URLSearchParams());
    for (const { namespace, name } of page.items) {
      this.#deleteAt({ ...this.#place, namespace, name }, options);
    }
    return jsonAnswer(200, this.#renderer.list(page));
  }

  #postToPod(): Answer {
    const { resource, subresource, verb, body } = this.#call;
    if (resource.storage !== "pods" || !["binding", "eviction"].includes(subresource)) throw noSuchPath();
    if (verb !== "create") throw methodNotAllowed();
    const wallMs = this.#parts.clock.wallMs();
    if (subresource === "binding") {
      const target = textOf(childObject(objectBody(body, "Binding"), "target"), "name");
      bindPod(this.#registry, this.#place, target, wallMs);
    } else {
      const { store } = this.#parts;
      evictPod({ store, registry: this.#registry, wallMs }, this.#place, evictionOptionsIn(body, this.#place.name));
    }
    return objectAnswer(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
  }

  #watch(): Answer {
    const { store, clock, watches } = this.#parts;
    const selection = this.#selection();
    const options = this.#watchOptions();
    const renderer = this.#renderer;
    const open: Extract<Answer["body"], { open: unknown }>["open"] = (sink) => {
      const closed = (): boolean => watches.delete(stream);
      const stream = new WatchStream({ selection, options, renderer, store, clock, sink, closed });
      watches.add(stream);
      stream.lag(this.#parts.lagMs(stream.storage));
      return stream;
    };
    return { status: 200, headers: { "content-type": "application/json" }, body: { open } };
  }

  #watchOptions(): WatchOptions {
    const { query } = this.#call;
    const seconds = integerIn(query, "timeoutSeconds");
    return {
      resourceVersion: versionIn(query),
      bookmarks: ["true", "1"].includes(query.get("allowWatchBookmarks") ?? ""),
      timeoutMs: seconds > 0 ? seconds * 1000 : WATCH_TIMEOUT_MS * (1 + this.#parts.random()),
      bookmarkPeriodMs: this.#parts.bookmarkPeriodMs,
    };
  }
}
