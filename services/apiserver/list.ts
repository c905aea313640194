/**
 * The reading verb list: which objects a query selects, in pages of one consistent snapshot. How they are shown is in
 * render.ts.
 */
import { checkFields, fieldsOf } from "./fields.ts";
import type { ApiObject } from "./objects.ts";
import type { Resource } from "./resources.ts";
import { demanded, fieldSelector, labelSelector, type Selector, selects, type Values } from "./selectors.ts";
import { badRequest, gone, versionTooLarge } from "./status.ts";
import type { Collection, Store } from "./store.ts";
import type { Stored } from "./stored.ts";

/** Which objects a list or a watch is about. */
export interface Selection {
  readonly resource: Resource;
  /** "" for all namespaces. */
  readonly namespace: string;
  readonly labels: Selector;
  readonly fields: Selector;
}

/** One page of a list. */
export interface Page {
  readonly items: readonly Stored[];
  readonly revision: number;
  /** The token for the next page; "" when this is the last. */
  readonly next: string;
  readonly remaining: number;
}

/** Reads the selectors of a query; throws a 400 for what is none. */
export function selectionOf(resource: Resource, namespace: string, query: URLSearchParams): Selection {
  const fields = fieldSelector(query.get("fieldSelector") ?? "");
  checkFields(resource, fields);
  return { resource, namespace, labels: labelSelector(query.get("labelSelector") ?? ""), fields };
}

/** Whether a version of an object is selected. Only what a selector looks at is parsed. */
export function isSelected(selection: Selection, stored: Stored): boolean {
  const { namespace, labels, fields } = selection;
  if (namespace !== "" && stored.namespace !== namespace) return false;
  if (!selectsCheaply(fields, stored)) return false;
  const needsObject = labels.length > 0 || fields.some((term) => !(term.key in CHEAP));
  if (!needsObject) return true;
  const object = stored.object();
  return selects(labels, labelsOf(object)) && selects(fields, fieldsOf(selection.resource.storage, object));
}

/** Fields that the store keeps beside the JSON. */
const CHEAP: Readonly<Record<string, (stored: Stored) => string>> = {
  "metadata.name": (stored) => stored.name,
  "metadata.namespace": (stored) => stored.namespace,
  "spec.nodeName": (stored) => stored.node,
  "status.phase": (stored) => stored.phase,
};

function selectsCheaply(fields: Selector, stored: Stored): boolean {
  return fields.every((term) => {
    const read = CHEAP[term.key];
    // A namespace's phase is not kept beside its JSON; the full comparison decides.
    if (read === undefined || (term.key === "status.phase" && stored.phase === "")) return true;
    return selects([term], { [term.key]: read(stored) });
  });
}

function labelsOf(object: ApiObject): Values {
  return (object.metadata.labels ?? {}) as Values;
}

/** All selected objects in order, by the narrowest index there is. */
export function selected(collection: Collection, selection: Selection): Stored[] {
  const name = demanded(selection.fields, "metadata.name");
  const node = demanded(selection.fields, "spec.nodeName");
  return candidates(collection, selection.namespace, name, node).filter((stored) => isSelected(selection, stored));
}

function candidates(collection: Collection, namespace: string, name: string | null, node: string | null): Stored[] {
  if (node !== null && node !== "") return collection.onNode(node);
  if (name !== null && (namespace !== "" || CLUSTER_SCOPED.includes(collection.name))) {
    const one = collection.get(namespace, name);
    return one === undefined ? [] : [one];
  }
  return collection.sorted(namespace);
}

const CLUSTER_SCOPED: readonly string[] = ["nodes", "namespaces"];

/** How many unfinished paged lists are kept; the oldest expires when one more begins. */
const SNAPSHOTS_MAX = 8;

/** Lists, and the snapshots behind their unfinished pages. */
export class Lists {
  readonly #store: Store;
  readonly #snapshots = new Map<string, { readonly items: readonly Stored[]; readonly revision: number }>();
  #count = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** One page of what a query selects. Throws 410 for a token whose snapshot is gone and 504 for a future revision. */
  page(selection: Selection, query: URLSearchParams): Page {
    const limit = Number(query.get("limit") ?? 0) || 0;
    const token = query.get("continue") ?? "";
    if (token !== "") return this.#next(token, limit);
    const version = query.get("resourceVersion") ?? "";
    this.#checkVersion(version);
    const items = selected(this.#store.collection(selection.resource.storage), selection);
    const revision = this.#store.revision;
    // A list at version 0 may come from a cache, and the real server's cache does not page.
    if (limit <= 0 || items.length <= limit || version === "0") return { items, revision, next: "", remaining: 0 };
    this.#count += 1;
    const id = String(this.#count);
    this.#snapshots.set(id, { items, revision });
    for (const oldest of this.#snapshots.keys())
      if (this.#snapshots.size > SNAPSHOTS_MAX) this.#snapshots.delete(oldest);
    return this.#slice(id, 0, limit);
  }

  /** Forgets the snapshots: unfinished lists get 410. */
  compact(): void {
    this.#snapshots.clear();
  }

  #next(token: string, limit: number): Page {
    const [id, from] = Buffer.from(token, "base64url").toString().split("@");
    if (id === undefined || from === undefined) throw badRequest("continue key is not valid");
    if (!this.#snapshots.has(id)) {
      throw gone("The provided continue parameter is too old to display a consistent list result.");
    }
    return this.#slice(id, Number(from), limit);
  }

  #slice(id: string, from: number, limit: number): Page {
    const { items, revision } = this.#snapshots.get(id) ?? { items: [], revision: this.#store.revision };
    const end = limit > 0 ? from + limit : items.length;
    const remaining = Math.max(0, items.length - end);
    if (remaining === 0) this.#snapshots.delete(id);
    const next = remaining === 0 ? "" : Buffer.from(`${id}@${end}`).toString("base64url");
    return { items: items.slice(from, end), revision, next, remaining };
  }

  #checkVersion(version: string): void {
    const requested = Number(version);
    if (version !== "" && !(Number.isSafeInteger(requested) && requested >= 0)) {
      throw badRequest(`resourceVersion: Invalid value: ${JSON.stringify(version)}: invalid`);
    }
    if (requested > this.#store.revision) throw versionTooLarge(requested, this.#store.revision);
  }
}
