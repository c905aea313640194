/** A bounded history of what happened to each object, with causes. It keeps text, not messages. */
import type { Decision, Subject } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { NamedText } from "../../domain/format.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";

/** Entries over all objects, about 600 bytes each; the least recently mentioned object is dropped first. */
const ENTRIES_MAX = 50_000;
/** Entries per object; the oldest is dropped first. */
export const ENTRIES_PER_OBJECT_MAX = 32;
/** The latest decisions over all objects. */
const LATEST_MAX = 500;
/** Ids kept of a repeated entry, so that outcomes of its messages find it. */
const IDS_PER_ENTRY_MAX = 8;
const CHAIN_MAX = 16;

interface HistoryEntry {
  decision: Decision;
  ids: readonly string[];
  /** The version of the observed node; absent for any other entry. */
  version?: string;
}

/** Where an entry comes from: a message, or a part of one. */
export type EntryHead = Pick<Decision, "id" | "at" | "type" | "cause">;

/** Entries by object. */
export class History {
  readonly #entriesMax: number;
  readonly #objects: BoundedMap<string, HistoryEntry[]>;
  readonly #byId = new Map<string, HistoryEntry>();
  /** The last write to each node, by uid, with the id of its `done.write`. */
  readonly #writes: BoundedMap<string, { readonly resourceVersion: string; readonly id: string }>;
  readonly #latest: Decision[] = [];
  #size = 0;

  constructor(entriesMax = ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
    this.#objects = new BoundedMap(entriesMax, (entries) => this.#forget(entries));
    this.#writes = new BoundedMap(entriesMax);
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds a message with its text, and returns the added decision. A message without text only adds its id to the last
   * entry of its type about that object, so that causes are found through it.
   */
  add(message: AnyMessage, subject: Subject, entry: NamedText | null): Decision | null {
    const { id, at, type, body } = message;
    const decision = this.addEntry({ id, at, type, cause: this.#causeOf(message) }, subject, entry);
    const added = decision === null ? undefined : this.#byId.get(id);
    if (type === "observed.node" && added !== undefined) added.version = body.resourceVersion;
    if (type === "done.write" && body.resourceVersion !== null) this.#attribute(subject, body.resourceVersion, id);
    return decision;
  }

  /** Adds an entry that is a part of a message, like `add`. */
  addEntry({ id, at, type, cause }: EntryHead, subject: Subject, entry: NamedText | null): Decision | null {
    if (this.#byId.has(id)) return null;
    const entries = this.#objects.get(keyOf(subject)) ?? [];
    const last = entries.findLast(({ decision }) => decision.type === type);
    if (entry === null) {
      if (last !== undefined) this.#name(last, id);
      return null;
    }
    const { text, names } = entry;
    // A late entry happened before the last one and is no repetition of it.
    const isRepeated = last !== undefined && last === entries.at(-1) && last.decision.text === text;
    const repeated = isRepeated && last.decision.at <= at ? last : null;
    const times = (repeated?.decision.times ?? 0) + 1;
    const named = names.length > 0 && { names };
    const decision: Decision = { id, cause, at, type, object: subject, text, ...named, times };
    const kept = repeated ?? { decision, ids: [] };
    kept.decision = decision;
    this.#name(kept, id);
    if (repeated === null) this.#place(entries, kept);
    this.#objects.set(keyOf(subject), entries);
    while (this.#size > this.#entriesMax) this.#objects.dropOldest();
    insert(this.#latest, decision, (other) => other.at);
    if (this.#latest.length > 2 * LATEST_MAX) this.#latest.splice(0, LATEST_MAX);
    return decision;
  }

  /** What happened to an object, oldest first. */
  of(subject: Subject): readonly Decision[] {
    return (this.#objects.get(keyOf(subject)) ?? []).map(({ decision }) => decision);
  }

  /** The causes of a decision, the nearest first. */
  causesOf(decision: Decision): readonly Decision[] {
    const chain: Decision[] = [];
    let cause = decision.cause;
    while (cause !== null && chain.length < CHAIN_MAX) {
      const entry = this.#byId.get(cause);
      if (entry === undefined || chain.includes(entry.decision)) break;
      chain.push(entry.decision);
      cause = entry.decision.cause;
    }
    return chain;
  }

  /** The latest decisions, newest first. */
  latest(limit: number): readonly Decision[] {
    return this.#latest.slice(this.#latest.length - Math.min(limit, LATEST_MAX, this.#latest.length)).reverse();
  }

  #place(entries: HistoryEntry[], entry: HistoryEntry): void {
    insert(entries, entry, ({ decision }) => decision.at);
    this.#size++;
    if (entries.length > ENTRIES_PER_OBJECT_MAX) this.#forget(entries.splice(0, 1));
  }

  #name(entry: HistoryEntry, id: string): void {
    // `push` would reserve room for sixteen ids, and nearly every entry has one.
    entry.ids = entry.ids.concat(id);
    this.#byId.set(id, entry);
    if (entry.ids.length <= IDS_PER_ENTRY_MAX) return;
    this.#byId.delete(entry.ids[0] ?? "");
    entry.ids = entry.ids.slice(1);
  }

  /** A watch carries no causes: a node observed at the resourceVersion of a Vigil write was caused by that write. */
  #causeOf({ type, id, cause, body }: AnyMessage): string | null {
    if (type === "done.write" && body.kind === "Node" && body.resourceVersion !== null) {
      this.#writes.set(body.uid, { resourceVersion: body.resourceVersion, id });
    }
    if (type !== "observed.node") return cause;
    const write = this.#writes.get(body.uid);
    return write?.resourceVersion === body.resourceVersion ? write.id : cause;
  }

  /** The node may be observed before its writer reports the write. */
  #attribute(subject: Subject, resourceVersion: string, cause: string): void {
    for (const entry of this.#objects.get(keyOf(subject)) ?? []) {
      const { decision } = entry;
      if (entry.version !== resourceVersion) continue;
      entry.decision = { ...decision, cause };
      const latest = this.#latest.lastIndexOf(decision);
      if (latest >= 0) this.#latest[latest] = entry.decision;
    }
  }

  #forget(entries: readonly HistoryEntry[]): void {
    this.#size -= entries.length;
    for (const { ids } of entries) for (const id of ids) this.#byId.delete(id);
  }
}

/** Inserts an item by time, behind its equals: nearly always at the end. */
function insert<T>(row: T[], item: T, atOf: (item: T) => number): void {
  row.splice(row.findLastIndex((other) => atOf(other) <= atOf(item)) + 1, 0, item);
}

function keyOf({ kind, namespace, name }: Subject): string {
  return `${kind}/${namespace}/${name}`;
}
