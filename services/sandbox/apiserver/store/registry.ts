/** The writing verbs: create, update and delete, with preconditions, admission and validation. */
import type { Clock, Random } from "../../../../protocols/ports.ts";
import { type ApiObject, isObject, sameJson, textOf } from "../api-objects.ts";
import { ApiFailure, alreadyExists, forbidden, notFound } from "../api-status.ts";
import { type Place, type Resource, storedApiVersionOf, storedAs } from "../resources.ts";
import { canonical } from "../views/canonical.ts";
import { METADATA } from "../views/object-shapes.ts";
import { type DeleteOptions, markForDeletion, mayGo } from "./deletion.ts";
import { identify, keepIdentity } from "./object-identity.ts";
import { checkDeletion, checkName, checkPreconditions, checkValid, checkVersion, type UpdateVerb } from "./refusals.ts";
import type { Store } from "./store.ts";
import { Stored } from "./stored.ts";
import { type Part, strategyOf } from "./strategy.ts";

/** The result of a delete. */
export interface Deletion {
  readonly stored: Stored;
  /** False while the object waits for its grace period or its finalizers. */
  readonly gone: boolean;
}

/** Namespaces that cannot be deleted. */
const LASTING_NAMESPACES = ["default", "kube-system", "kube-public"];

/** The parts of a store that the registry uses. */
type ObjectStorage = Pick<Store, "collection" | "nextRevision" | "revision" | "put" | "remove">;

/** The writing verbs on one store. */
export class Registry {
  readonly #store: ObjectStorage;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ store, clock, random }: { store: ObjectStorage; clock: Clock; random: Random }) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
  }

  /** The same verbs as a dry run: same results, no effects. */
  dry(): Registry {
    const store: ObjectStorage = {
      collection: (name) => this.#store.collection(name),
      nextRevision: () => this.#store.revision,
      revision: this.#store.revision,
      put: () => undefined,
      remove: () => undefined,
    };
    return new Registry({ store, clock: this.#clock, random: this.#random });
  }

  /** The object at a place. Throws a 404. */
  find({ resource, namespace, name }: Place): Stored {
    const stored = this.#store.collection(resource.storage).get(namespace, name);
    if (stored === undefined) throw notFound(resource, name);
    return stored;
  }

  /** Creates an object; the registry keeps `object`. */
  create(resource: Resource, namespace: string, object: ApiObject): Stored {
    const strategy = strategyOf(resource);
    if (object.metadata.resourceVersion) {
      throw new ApiFailure({
        code: 500,
        reason: "",
        message: "resourceVersion should not be set on objects to be created",
      });
    }
    identify(object, namespace, { wallMs: this.#clock.wallMs(), random: this.#random });
    this.#checkNamespace(resource, namespace, object.metadata.name);
    strategy.setDefaults(object);
    strategy.prepareCreate(object);
    if (strategy.desired !== null) object.metadata.generation = 1;
    checkValid(resource, object, null);
    const present = this.#store.collection(resource.storage).get(namespace, object.metadata.name);
    if (present !== undefined) throw alreadyExists(resource, object.metadata.name, present.terminating);
    return this.#commit(resource, object);
  }

  /** Replaces an object by what `change` makes of a copy of it. */
  update(place: Place, part: Part, change: (before: ApiObject) => ApiObject, verb: UpdateVerb = "update"): Stored {
    return this.replace(place, part, change(this.find(place).object()), verb);
  }

  /**
   * Replaces an object; the registry keeps `object`. Its resourceVersion and uid, if present, must be those of the
   * stored one. An update that changes nothing is not written.
   */
  replace(place: Place, part: Part, object: ApiObject, verb: UpdateVerb = "update"): Stored {
    const { resource } = place;
    const strategy = strategyOf(resource);
    const stored = this.find(place);
    const before = stored.object();
    checkVersion(place, stored, object.metadata, verb);
    checkName(place, object);
    object.apiVersion = before.apiVersion;
    checkDeletion(place, object, before);
    keepIdentity(object, before);
    strategy.prepareUpdate(object, before, part);
    if (part === "main") strategy.setDefaults(object);
    const { desired } = strategy;
    if (desired !== null && part === "main" && !sameJson(desired(object), desired(before))) {
      object.metadata.generation = (before.metadata.generation ?? 0) + 1;
    }
    object.metadata.resourceVersion = String(stored.revision);
    if (part !== "binding") checkValid(resource, object, before);
    if (sameJson(object, before)) return stored;
    if (!stored.terminating || !mayGo(object)) return this.#commit(resource, object);
    // The update that removes the last finalizer is answered but not published: watchers see the deletion of the object
    // as it was.
    this.#remove(resource, stored);
    return storedOf(resource, object, stored.revision);
  }

  /** Deletes an object at once, or marks it until its grace period and finalizers are over. */
  delete(place: Place, options: DeleteOptions): Deletion {
    const { resource, name } = place;
    const stored = this.find(place);
    checkPreconditions(place, stored, options);
    if (resource.storage === "namespaces" && LASTING_NAMESPACES.includes(name)) {
      throw forbidden(resource, name, "this namespace may not be deleted");
    }
    const object = stored.object();
    const marking = markForDeletion(resource, object, options, this.#clock.wallMs());
    if (marking === "unchanged") return { stored, gone: false };
    const marked = marking === "marked" ? this.#commit(resource, object) : stored;
    if (marking === "marked" && !mayGo(object)) return { stored: marked, gone: false };
    return { stored: this.#remove(resource, marked), gone: true };
  }

  #checkNamespace(resource: Resource, namespace: string, name: string): void {
    if (namespace === "") return;
    const found = this.#store.collection("namespaces").get("", namespace);
    if (found === undefined) throw notFound(storedAs("namespaces"), namespace);
    if (found.terminating) {
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
      const message = `namespace ${namespace} is being terminated`;
      throw forbidden(resource, name, why, [{ reason: "NamespaceTerminating", message, field: "metadata.namespace" }]);
    }
  }

  #commit(resource: Resource, object: ApiObject): Stored {
    const stored = storedOf(resource, object, this.#store.nextRevision());
    this.#store.put(resource.storage, stored);
    return stored;
  }

  #remove(resource: Resource, stored: Stored): Stored {
    const last = storedOf(resource, stored.object(), this.#store.nextRevision());
    this.#store.remove(resource.storage, last);
    return last;
  }
}

/** A stored version of an object, as JSON that begins with kind and apiVersion. */
function storedOf(resource: Resource, object: ApiObject, revision: number): Stored {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  metadata.resourceVersion = String(revision);
  const head = {
    kind: resource.kind,
    apiVersion: storedApiVersionOf(resource),
    metadata: canonical(metadata, METADATA),
  };
  const isPod = resource.storage === "pods";
  return new Stored({
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
    revision,
    json: JSON.stringify({ ...head, ...rest }),
    node: isPod && isObject(object.spec) ? textOf(object.spec, "nodeName") : "",
    phase: isPod && isObject(object.status) ? textOf(object.status, "phase") : "",
    terminating: metadata.deletionTimestamp !== undefined,
  });
}
