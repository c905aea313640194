/**
 * The life of definitions: accepts their names, serves their resources, and deletes their objects before a definition
 * is deleted. It acts just after the write that it follows.
 */
import type { Clock } from "../../../../protocols/ports.ts";
import { apiTime } from "../../../domain/api-time.ts";
import { type ApiObject, childList, childObject, type JsonObject, sameJson, textOf } from "../api-objects.ts";
import type { ResourceCatalog } from "../resource-catalog.ts";
import { type Resource, type StorageName, storedAs } from "../resources.ts";
import type { Registry } from "../store/registry.ts";
import { onNextChange, type Store } from "../store/store.ts";
import { CLEANUP_FINALIZER } from "../store/strategy.ts";
import { resourcesOf, storageOf, textsOf } from "./definition.ts";

/** What the life of definitions needs. */
export interface DefinitionParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly catalog: ResourceCatalog;
  readonly clock: Clock;
  /** Ends the watches of a collection. */
  readonly cut: (storage: StorageName) => void;
}

const DEFINITIONS = storedAs("customresourcedefinitions");

/** The definitions of one API server. */
export class Definitions {
  readonly #parts: DefinitionParts;

  constructor(parts: DefinitionParts) {
    this.#parts = parts;
  }

  /** Follows the definitions from now on. */
  start(): void {
    this.#parts.store.collection(DEFINITIONS.storage).listen(({ now }) => this.#soon(now.name));
  }

  /** Looks again at definitions that were changed without an event. */
  review(names: Iterable<string>): void {
    for (const name of names) this.#soon(name);
  }

  #soon(name: string): void {
    this.#parts.clock.soon(() => this.#reconcile(name));
  }

  #reconcile(name: string): void {
    const definition = this.#parts.store.collection(DEFINITIONS.storage).get("", name)?.object();
    if (definition === undefined) this.#withdraw(name as StorageName);
    else if (definition.metadata.deletionTimestamp !== undefined) this.#empty(definition);
    else this.#accept(definition);
  }

  /** Accepts the names of a definition if no other has them, and serves what it defines. */
  #accept(definition: ApiObject): void {
    const { clock, catalog } = this.#parts;
    const status = acceptedStatus(definition, this.#others(definition), apiTime(clock.wallMs()));
    if (!sameJson(status, definition.status)) this.#write(definition, "status", { status });
    if (isEstablished(status)) catalog.serve(storageOf(definition), resourcesOf({ ...definition, status }));
  }

  /** The accepted names of the other definitions of the group. */
  #others(definition: ApiObject): JsonObject[] {
    const group = textOf(childObject(definition, "spec"), "group");
    const definitions = this.#parts.store.collection(DEFINITIONS.storage).sorted("");
    return definitions
      .map((stored) => stored.object())
      .filter(({ metadata }) => metadata.name !== definition.metadata.name)
      .filter(({ spec }) => textOf(spec as JsonObject, "group") === group)
      .map(({ status }) => childObject(status as JsonObject, "acceptedNames"));
  }

  /** Deletes the objects of a definition; when the last has gone, so may the definition. */
  #empty(definition: ApiObject): void {
    const { store, registry, catalog } = this.#parts;
    const storage = storageOf(definition);
    const [resource] = catalog.customAt(storage);
    const collection = store.collection(storage);
    if (resource !== undefined)
      for (const { namespace, name } of collection.sorted("")) {
        registry.delete({ resource, namespace, name }, { uid: null, resourceVersion: null, gracePeriodSeconds: null });
      }
    if (collection.size > 0) {
      onNextChange([collection], () => this.#soon(definition.metadata.name));
      return;
    }
    const finalizers = textsOf(definition.metadata, "finalizers").filter((one) => one !== CLEANUP_FINALIZER);
    this.#write(definition, "main", { metadata: { ...definition.metadata, finalizers } });
  }

  #withdraw(storage: StorageName): void {
    const { catalog, cut } = this.#parts;
    if (catalog.customAt(storage).length === 0) return;
    catalog.serve(storage, []);
    cut(storage);
  }

  #write(definition: ApiObject, part: "main" | "status", changes: Partial<ApiObject>): void {
    const place = { resource: DEFINITIONS as Resource, namespace: "", name: definition.metadata.name };
    this.#parts.registry.update(place, part, (before) => ({ ...before, ...changes }) as ApiObject);
  }
}

function isEstablished(status: JsonObject): boolean {
  return childList(status, "conditions").some((one) => one.type === "Established" && one.status === "True");
}

/** The status of a definition whose names have been compared with those of others. */
function acceptedStatus(definition: ApiObject, others: readonly JsonObject[], now: string): JsonObject {
  const status = childObject(definition, "status");
  const names = childObject(childObject(definition, "spec"), "names");
  const conflict = conflictOf(names, others);
  const accepted = conflict === null;
  const wasEstablished = isEstablished(status);
  const conditions = [
    { type: "NamesAccepted", status: accepted ? "True" : "False", ...(conflict ?? NO_CONFLICT) },
    accepted || wasEstablished ? ESTABLISHED : NOT_ESTABLISHED,
  ];
  const stored = childList(childObject(definition, "spec"), "versions").find(({ storage }) => storage === true);
  const storedVersions = new Set([...textsOf(status, "storedVersions"), textOf(stored ?? {}, "name")]);
  return {
    conditions: conditions.map((condition) => stamped(condition, childList(status, "conditions"), now)),
    acceptedNames: accepted ? names : childObject(status, "acceptedNames"),
    storedVersions: [...storedVersions],
  };
}

const NO_CONFLICT = { reason: "NoConflicts", message: "no conflicts found" };
const ESTABLISHED = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: "the initial names have been accepted",
};
const NOT_ESTABLISHED = {
  type: "Established",
  status: "False",
  reason: "NotAccepted",
  message: "not all names are accepted",
};

/** The first name that another definition has already; null if none has. */
function conflictOf(names: JsonObject, others: readonly JsonObject[]): { reason: string; message: string } | null {
  const usedNames = new Set(others.flatMap((other) => [...resourceNames(other), ...textsOf(other, "shortNames")]));
  const kinds = new Set(others.flatMap((other) => [textOf(other, "kind"), textOf(other, "listKind")]));
  const plain = [...resourceNames(names), ...textsOf(names, "shortNames")].find((name) => usedNames.has(name));
  const kind = [textOf(names, "kind"), textOf(names, "listKind")].find((name) => kinds.has(name));
  const found = plain ?? kind;
  if (found === undefined) return null;
  return { reason: plain === undefined ? "KindConflict" : "NameConflict", message: `"${found}" is already in use` };
}

function resourceNames(names: JsonObject): string[] {
  return [textOf(names, "plural"), textOf(names, "singular")].filter((name) => name !== "");
}

/** A condition with the time since when it has its status. */
function stamped(condition: JsonObject & { type: string }, before: readonly JsonObject[], now: string): JsonObject {
  const same = before.find(({ type, status }) => type === condition.type && status === condition.status);
  const { type, status, reason, message } = condition;
  return {
    type,
    status: status ?? "",
    lastTransitionTime: same?.lastTransitionTime ?? now,
    reason: reason ?? "",
    message: message ?? "",
  };
}
