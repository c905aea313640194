/** Carries out a request for a resource: the verb's reading or writing, and how its result is shown. Faults and access are checked before. */
import type { Clock, Random } from "../../protocols/ports.ts";
import { type Answer, jsonAnswer, objectAnswer } from "./answer.ts";
import { deleteOptionsIn, objectIn, patchIn } from "./bodies.ts";
import { type Lists, selectionOf } from "./list.ts";
import type { ApiObject } from "./objects.ts";
import { bindPod, evictPod } from "./pod-subresources.ts";
import type { Place, Registry } from "./registry.ts";
import { objectRenderer, type Renderer } from "./render.ts";
import type { Resource, StorageName } from "./resources.ts";
import type { Call } from "./routes.ts";
import { methodNotAllowed, noSuchPath } from "./status.ts";
import type { Store } from "./store.ts";
import type { Stored } from "./stored.ts";
import { STRATEGIES } from "./strategy.ts";
import { viewOf } from "./views.ts";
import { type WatchOptions, WatchStream } from "./watch.ts";

/** What the verbs work on. */
export interface VerbParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly lists: Lists;
  readonly clock: Clock;
  readonly random: Random;
  /** Every open watch; the verbs add to it, a watch that ends is taken out. */
  readonly watches: Set<WatchStream>;
  /** Whether new watches of a collection are stale from the start. */
  isSilent(storage: StorageName): boolean;
  /** How often a watch that wants bookmarks gets one. */
  readonly bookmarkPeriodMs: number;
}

/** The real server's --min-request-timeout: watches without a timeout of their own end after it, at most twice as late. */
const WATCH_TIMEOUT_MS = 1_800_000;

/** Carries out a call. Throws an ApiFailure for what cannot be done. */
export function carryOut(parts: VerbParts, call: Call): Answer {
  if (call.subresource !== "" && call.subresource !== "status") return carryOutSubresource(parts, call);
  if (call.subresource === "status" && !call.resource.hasStatus) throw noSuchPath();
  switch (call.verb) {
    case "get":
      return jsonAnswer(200, rendererFor(call).one(parts.registry.find(placeOf(call))));
    case "list":
      return jsonAnswer(200, rendererFor(call).list(parts.lists.page(selectionFor(call), call.query)));
    case "watch":
      return watch(parts, call);
    case "create":
      return create(parts, call);
    case "update":
      return update(parts, call);
    case "patch":
      return patch(parts, call);
    case "delete":
      return remove(parts, call);
    case "deletecollection":
      return removeAll(parts, call);
    case "unsupported":
      throw methodNotAllowed();
  }
}

function placeOf(call: Call): Place {
  return { resource: call.resource, namespace: call.namespace, name: call.name };
}

function rendererFor(call: Call): Renderer {
  return objectRenderer(call.resource);
}

function selectionFor(call: Call): ReturnType<typeof selectionOf> {
  return selectionOf(call.resource, call.namespace, call.query);
}

function shownAs(call: Call, stored: Stored, status: number): Answer {
  return jsonAnswer(status, rendererFor(call).one(stored));
}

function create(parts: VerbParts, call: Call): Answer {
  if (call.name !== "" || (call.resource.namespaced && call.namespace === "")) throw methodNotAllowed();
  const object = viewOf(call.resource).store(objectIn(call));
  return shownAs(call, parts.registry.create(call.resource, call.namespace, object), 201);
}

function update(parts: VerbParts, call: Call): Answer {
  const { resource, namespace } = call;
  const object = viewOf(resource).store(objectIn(call));
  const exists = parts.store.collection(resource.storage).get(namespace, call.name) !== undefined;
  if (!exists && STRATEGIES[resource.storage].createsOnUpdate) {
    object.metadata.name = call.name;
    return shownAs(call, parts.registry.create(resource, namespace, object), 201);
  }
  return shownAs(
    call,
    parts.registry.update(placeOf(call), partOf(call), () => object),
    200,
  );
}

function patch(parts: VerbParts, call: Call): Answer {
  const change = patchIn(call);
  const view = viewOf(call.resource);
  const changed = (before: ApiObject): ApiObject => view.store(change(view.show(before)));
  return shownAs(call, parts.registry.update(placeOf(call), partOf(call), changed), 200);
}

function partOf(call: Call): "main" | "status" {
  return call.subresource === "status" ? "status" : "main";
}

function remove(parts: VerbParts, call: Call): Answer {
  const { stored, gone } = parts.registry.delete(placeOf(call), deleteOptionsIn(call));
  if (!gone || STRATEGIES[call.resource.storage].returnsDeleted) return shownAs(call, stored, 200);
  return objectAnswer(200, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: stored.name, ...groupOf(call.resource), kind: call.resource.plural, uid: stored.uid },
  });
}

function groupOf(resource: Resource): { group?: string } {
  return resource.group === "" ? {} : { group: resource.group };
}

function removeAll(parts: VerbParts, call: Call): Answer {
  const options = deleteOptionsIn(call);
  const page = parts.lists.page(selectionFor(call), new URLSearchParams());
  for (const { namespace, name } of page.items) parts.registry.delete({ ...placeOf(call), namespace, name }, options);
  return jsonAnswer(200, rendererFor(call).list(page));
}

function watch(parts: VerbParts, call: Call): Answer {
  const selection = watchSelection(call);
  const seconds = Number(call.query.get("timeoutSeconds") ?? 0) || 0;
  const options: WatchOptions = {
    resourceVersion: call.query.get("resourceVersion") ?? "",
    bookmarks: ["true", "1"].includes(call.query.get("allowWatchBookmarks") ?? ""),
    timeoutMs: seconds > 0 ? seconds * 1000 : WATCH_TIMEOUT_MS * (1 + parts.random()),
    bookmarkPeriodMs: parts.bookmarkPeriodMs,
  };
  const { store, clock, watches } = parts;
  const renderer = rendererFor(call);
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    body: {
      open(sink) {
        const closed = (): boolean => watches.delete(stream);
        const stream = new WatchStream({ selection, options, renderer, store, clock, sink, closed });
        watches.add(stream);
        stream.silence(parts.isSilent(call.resource.storage));
        return stream;
      },
    },
  };
}

/** A watch of one name is a watch of the collection that selects that name. */
function watchSelection(call: Call): ReturnType<typeof selectionOf> {
  const selection = selectionFor(call);
  if (call.name === "") return selection;
  const named = { key: "metadata.name", operator: "in", values: [call.name] } as const;
  return { ...selection, fields: [...selection.fields, named] };
}

function carryOutSubresource(parts: VerbParts, call: Call): Answer {
  if (call.resource.storage !== "pods" || !["binding", "eviction"].includes(call.subresource)) throw noSuchPath();
  if (call.verb !== "create") throw methodNotAllowed();
  const place = placeOf(call);
  if (call.subresource === "binding") bindPod(parts.registry, place, call.body, parts.clock.wallMs());
  else evictPod(parts.registry, place, call.body);
  return objectAnswer(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
}
