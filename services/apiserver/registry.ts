/**
 * The writing verbs: create, update and delete with their preconditions, admission and validation. Requests and bodies
 * are read elsewhere.
 */
import type { Clock, Random } from "../../protocols/ports.ts";
import { apiTime, epochMsOf } from "../runtime/api-time.ts";
import { identify, keepIdentity } from "./metadata.ts";
import { type ApiObject, isObject, sameJson, textOf } from "./objects.ts";
import { type Resource, resourceAt, storedAs } from "./resources.ts";
import { alreadyExists, badRequest, conflict, forbidden, invalid, notFound, STALE_VERSION } from "./status.ts";
import type { Store } from "./store.ts";
import { Stored } from "./stored.ts";
import { type Part, STRATEGIES } from "./strategy.ts";
import { problemsOf } from "./validation.ts";

/** Where an object lives. */
export interface Place {
  readonly resource: Resource;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

/** What a delete asks for. */
export interface DeleteOptions {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  readonly gracePeriodSeconds: number | null;
}

/** What a delete came to. */
export interface Deletion {
  readonly stored: Stored;
  /** False while the object waits for its grace period or its finalizers. */
  readonly gone: boolean;
}

/** Namespaces that cannot be deleted. */
const LASTING_NAMESPACES = ["default", "kube-system", "kube-public"];

/** The writing verbs on one store. */
export class Registry {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ store, clock, random }: { store: Store; clock: Clock; random: Random }) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
  }

  /** The object at a place; throws a 404. */
  find({ resource, namespace, name }: Place): Stored {
    const stored = this.#store.collection(resource.storage).get(namespace, name);
    if (stored === undefined) throw notFound(resource, name);
    return stored;
  }

  /** Creates an object; `object` is in the stored version and becomes the registry's own. */
  create(resource: Resource, namespace: string, object: ApiObject): Stored {
    const strategy = STRATEGIES[resource.storage];
    if (object.metadata.resourceVersion) {
      throw badRequest("resourceVersion should not be set on objects to be created");
    }
    identify(object, namespace, { wallMs: this.#clock.wallMs(), random: this.#random });
    this.#checkNamespace(resource, namespace, object.metadata.name);
    strategy.prepareCreate(object);
    if (strategy.countsGenerations) object.metadata.generation = 1;
    this.#validate(resource, object);
    if (this.#store.collection(resource.storage).get(namespace, object.metadata.name) !== undefined) {
      throw alreadyExists(resource, object.metadata.name);
    }
    return this.#commit(resource, object);
  }

  /**
   * Updates an object to what `change` makes of it. A resourceVersion in the result must be the present one, a uid too;
   * a result that says the same as before is not written.
   */
  update(place: Place, part: Part, change: (before: ApiObject) => ApiObject): Stored {
    const { resource, name } = place;
    const strategy = STRATEGIES[resource.storage];
    const stored = this.find(place);
    const object = change(stored.object());
    this.#checkVersion(place, stored, object);
    const before = stored.object();
    keepIdentity(object, before);
    strategy.prepareUpdate(object, before, part);
    if (strategy.countsGenerations && part === "main" && !sameJson(object.spec, before.spec)) {
      object.metadata.generation = (before.metadata.generation ?? 0) + 1;
    }
    object.metadata.resourceVersion = String(stored.revision);
    this.#validate(resource, object);
    if (name !== object.metadata.name) {
      throw badRequest(`the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`);
    }
    if (sameJson(object, before)) return stored;
    const written = this.#commit(resource, object);
    return mayGo(written) ? this.#remove(resource, written) : written;
  }

  /** Deletes an object: at once, or by a mark that waits for its grace period or its finalizers. */
  delete(place: Place, options: DeleteOptions): Deletion {
    const { resource, name } = place;
    const stored = this.find(place);
    checkPreconditions(place, stored, options);
    if (resource.storage === "namespaces" && LASTING_NAMESPACES.includes(name)) {
      throw forbidden(resource, name, "this namespace may not be deleted");
    }
    const object = stored.object();
    const change = this.#markForDeletion(resource, object, options.gracePeriodSeconds);
    if (change === "none") return { stored, gone: false };
    const marked = change === "marked" ? this.#commit(resource, object) : stored;
    const waits = change === "marked" && (hasFinalizers(object) || object.metadata.deletionGracePeriodSeconds !== 0);
    if (waits) return { stored: marked, gone: false };
    return { stored: this.#remove(resource, marked), gone: true };
  }

  /**
   * Sets the marks of a deletion; tells whether there is something to write, nothing to do, or the object may go
   * unmarked.
   */
  #markForDeletion(resource: Resource, object: ApiObject, asked: number | null): "marked" | "none" | "unmarked" {
    const meta = object.metadata;
    const grace = STRATEGIES[resource.storage].graceSeconds(object, asked);
    if (meta.deletionTimestamp !== undefined) {
      const present = meta.deletionGracePeriodSeconds ?? 0;
      if (grace === null || asked === null || asked >= present) return "none";
      const asked0 = (epochMsOf(meta.deletionTimestamp) ?? 0) - present * 1000;
      meta.deletionTimestamp = apiTime(asked0 + asked * 1000);
      meta.deletionGracePeriodSeconds = asked;
      return "marked";
    }
    if (grace === null && !hasFinalizers(object) && resource.storage !== "namespaces") return "unmarked";
    const graceSeconds = grace ?? 0;
    meta.deletionTimestamp = apiTime(this.#clock.wallMs() + graceSeconds * 1000);
    meta.deletionGracePeriodSeconds = graceSeconds;
    if (meta.generation !== undefined) meta.generation += 1;
    if (resource.storage === "namespaces" && isObject(object.status)) object.status.phase = "Terminating";
    return "marked";
  }

  #checkVersion(place: Place, stored: Stored, object: ApiObject): void {
    const { uid, resourceVersion } = object.metadata;
    if (uid !== undefined && uid !== "" && uid !== stored.uid) {
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored.uid}`;
      throw conflict(place.resource, place.name, why);
    }
    if (resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== String(stored.revision)) {
      throw conflict(place.resource, place.name, STALE_VERSION);
    }
    if (!resourceVersion && !STRATEGIES[place.resource.storage].updatesUnconditionally) {
      const message = "Invalid value: 0x0: must be specified for an update";
      const problem = { type: "FieldValueInvalid", field: "metadata.resourceVersion", message } as const;
      throw invalid({ ...place.resource, kind: place.resource.plural }, place.name, [problem]);
    }
  }

  #checkNamespace(resource: Resource, namespace: string, name: string): void {
    if (namespace === "") return;
    const found = this.#store.collection("namespaces").get("", namespace);
    if (found === undefined) throw notFound(storedAs("namespaces"), namespace);
    if (found.terminating) {
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
      throw forbidden(resource, name, why);
    }
  }

  #validate(resource: Resource, object: ApiObject): void {
    const problems = problemsOf(resource.storage, object);
    if (problems.length > 0) throw invalid(resource, object.metadata.name, problems);
  }

  #commit(resource: Resource, object: ApiObject): Stored {
    const stored = this.#stored(resource, object);
    this.#store.put(resource.storage, stored);
    return stored;
  }

  #remove(resource: Resource, stored: Stored): Stored {
    const last = this.#stored(resource, stored.object());
    this.#store.remove(resource.storage, last);
    return last;
  }

  #stored(resource: Resource, object: ApiObject): Stored {
    const revision = this.#store.nextRevision();
    return storedOf(resource, object, revision);
  }
}

/** A version of an object under a revision, as JSON that begins with kind and apiVersion. */
function storedOf(resource: Resource, object: ApiObject, revision: number): Stored {
  const { kind, group, version } = storedAs(resource.storage);
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  metadata.resourceVersion = String(revision);
  const isPod = resource.storage === "pods";
  return new Stored({
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
    revision,
    json: JSON.stringify({ kind, apiVersion: group === "" ? version : `${group}/${version}`, metadata, ...rest }),
    node: isPod && isObject(object.spec) ? textOf(object.spec, "nodeName") : "",
    phase: isPod && isObject(object.status) ? textOf(object.status, "phase") : "",
    terminating: metadata.deletionTimestamp !== undefined,
  });
}

function hasFinalizers(object: ApiObject): boolean {
  const { finalizers } = object.metadata;
  if (Array.isArray(finalizers) && finalizers.length > 0) return true;
  const own = object.kind === "Namespace" && isObject(object.spec) ? object.spec.finalizers : undefined;
  return Array.isArray(own) && own.length > 0;
}

/** Whether an update has taken away the last thing that a deletion waited for. */
function mayGo(stored: Stored): boolean {
  if (!stored.terminating) return false;
  const object = stored.object();
  return !hasFinalizers(object) && (object.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

function checkPreconditions(place: Place, stored: Stored, { uid, resourceVersion }: DeleteOptions): void {
  if (uid !== null && uid !== stored.uid) {
    const why =
      `the UID in the precondition (${uid}) does not match the UID in record (${stored.uid}). ` +
      "The object might have been deleted and then recreated";
    throw conflict(place.resource, place.name, why);
  }
  if (resourceVersion !== null && resourceVersion !== String(stored.revision)) {
    const why =
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record ` +
      `(${stored.revision}). The object might have been modified`;
    throw conflict(place.resource, place.name, why);
  }
}

/** The resource of the core group with a plural name; a programming error when it is not served. */
export function coreResource(plural: string): Resource {
  const resource = resourceAt("v1", plural);
  if (resource === null) throw new RangeError(`v1 ${plural} is not served`);
  return resource;
}
