/** The verb list: the objects that a query selects, in pages of one consistent snapshot. */

import { badRequest, gone, versionTooLarge } from "../api-status.ts";
import { isSelected, type Selection, selected } from "./selection.ts";
import type { Collection, Store } from "./store.ts";
import type { Stored } from "./stored.ts";

/** One page of a list. */
export interface Page {
  readonly items: readonly Stored[];
  readonly revision: number;
  /** The token for the next page; "" when this is the last. */
  readonly next: string;
  readonly remaining: number;
}

/** Unfinished paged lists that are kept; one more drops the oldest. */
const SNAPSHOTS_MAX = 8;

/** Lists, and the snapshots of unfinished ones. */
export class Lists {
  readonly #store: Store;
  readonly #snapshots = new Map<string, { readonly items: readonly Stored[]; readonly revision: number }>();
  #count = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** One page of a list. Throws a 410 for a token whose snapshot is gone, and a 504 for a future revision. */
  page(selection: Selection, query: URLSearchParams): Page {
    const limit = integerIn(query, "limit");
    // A list needs no time here, but its timeout must still be a number.
    integerIn(query, "timeoutSeconds");
    const token = query.get("continue") ?? "";
    if (token !== "") return this.#next(token, limit);
    const version = versionIn(query);
    this.checkVersion(version);
    const exact = query.get("resourceVersionMatch") === "Exact";
    const revision = exact ? Number(version) : this.#store.revision;
    const collection = this.#store.collection(selection.resource.storage);
    const items = exact ? this.#at(revision, collection, selection) : selected(collection, selection);
    // The real server's cache serves resourceVersion=0, and does not page.
    if (limit <= 0 || items.length <= limit || version === "0") return { items, revision, next: "", remaining: 0 };
    this.#count += 1;
    const id = String(this.#count);
    this.#snapshots.set(id, { items, revision });
    for (const oldest of this.#snapshots.keys())
      if (this.#snapshots.size > SNAPSHOTS_MAX) this.#snapshots.delete(oldest);
    return this.#slice(id, 0, limit);
  }

  /** Drops the snapshots: unfinished lists get 410. */
  compact(): void {
    this.#snapshots.clear();
  }

  /** Throws a 504 for a future resourceVersion. */
  checkVersion(version: string): void {
    if (Number(version) > this.#store.revision) throw versionTooLarge(Number(version), this.#store.revision);
  }

  /** The selected objects at a revision. Throws a 410 when later changes have been dropped. */
  #at(revision: number, collection: Collection, selection: Selection): Stored[] {
    const later = collection.history.after(revision);
    if (later === null) throw gone("The resourceVersion for the provided list is too old.");
    const then = new Map<string, Stored | null>();
    for (const { now, before } of later) if (!then.has(pathOf(now))) then.set(pathOf(now), before);
    const unchanged = selected(collection, selection).filter((stored) => !then.has(pathOf(stored)));
    const changed = [...then.values()].filter((stored) => stored !== null).filter((one) => isSelected(selection, one));
    return [...unchanged, ...changed].sort((left, right) => (pathOf(left) < pathOf(right) ? -1 : 1));
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
}

function pathOf({ namespace, name }: Stored): string {
  return `${namespace}/${name}`;
}

/** The resourceVersion of a query, or "". Throws a 400 for what is no number. */
export function versionIn(query: URLSearchParams): string {
  const version = query.get("resourceVersion") ?? "";
  if (!/^\d*$/.test(version))
    throw badRequest(`resourceVersion: Invalid value: ${JSON.stringify(version)}: not a number`);
  return version;
}

/** An integer of a query, or 0. Throws a 400. */
export function integerIn(query: URLSearchParams, field: string): number {
  const text = query.get(field) ?? "";
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return value;
}
