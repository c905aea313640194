/** What happened to which object and what led to it, for as long as there is room. It holds sentences, not messages. */

import type { Decision, Subject } from "../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../protocols/messages.ts";
import { BoundedMap } from "../platform/structures/bounded-map.ts";

/** Entries kept over all objects, some 600 bytes each; the object longest unmentioned is forgotten first. */
const ENTRIES_MAX = 50_000;
/** Entries kept of one object; the oldest goes first. */
export const ENTRIES_PER_OBJECT_MAX = 32;
/** Decisions kept in the order they came, over all objects. */
const LATEST_MAX = 500;
/** Ids remembered of one thing that happened again and again, so that its outcome still finds it. */
const IDS_PER_ENTRY_MAX = 8;
/** How far a chain of causes is followed. */
const CHAIN_MAX = 16;

interface HistoryEntry {
  decision: Decision;
  /** The node it happened on; null where what it tells of was gone. */
  node: string | null;
  ids: readonly string[];
}

/** A write to a node. */
interface ObservedNodeWrite {
  readonly resourceVersion: string;
  /** Id of the message with its outcome. */
  readonly id: string;
}

/** A bounded history by object, in which causes can be followed. */
export class History {
  readonly #entriesMax: number;
  readonly #objects: BoundedMap<string, HistoryEntry[]>;
  readonly #byId = new Map<string, HistoryEntry>();
  /** The last write to each node, by uid: the one that made the node what it is then observed to be. */
  readonly #writes: BoundedMap<string, ObservedNodeWrite>;
  readonly #latest: Decision[] = [];
  #size = 0;

  constructor(entriesMax = ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
    this.#objects = new BoundedMap(entriesMax, (entries) => this.#forget(entries));
    this.#writes = new BoundedMap(entriesMax);
  }

  /** How many entries there are. */
  get size(): number {
    return this.#size;
  }

  /**
   * Keeps a message in its words. One without words only lends its id to the last of its kind about that object, so
   * that causes are found through it. Returns the decision that was added, if one was.
   */
  add(message: AnyMessage, subject: Subject, text: string | null): Decision | null {
    const { id, at, type } = message;
    if (this.#byId.has(id)) return null;
    const entries = this.#objects.get(keyOf(subject)) ?? [];
    const last = entries.findLast(({ decision }) => decision.type === type);
    if (text === null) {
      if (last !== undefined) this.#name(last, id);
      return null;
    }
    const again = last !== undefined && last === entries.at(-1) && isAgain(last.decision, text, at) ? last : null;
    const times = (again?.decision.times ?? 0) + 1;
    const decision: Decision = { id, cause: this.#causeOf(message), at, type, object: subject, text, times };
    const node = nodeOf(message);
    const entry = again ?? { decision, node, ids: [] };
    entry.decision = decision;
    entry.node = node;
    this.#name(entry, id);
    if (again === null) this.#place(entries, entry);
    this.#objects.set(keyOf(subject), entries);
    while (this.#size > this.#entriesMax) this.#objects.dropOldest();
    insert(this.#latest, decision, (told) => told.at);
    if (this.#latest.length > 2 * LATEST_MAX) this.#latest.splice(0, LATEST_MAX);
    return decision;
  }

  /** What happened to an object, oldest first. */
  of(subject: Subject): readonly Decision[] {
    return (this.#objects.get(keyOf(subject)) ?? []).map(({ decision }) => decision);
  }

  /** The node on which an object was when it was last spoken of; null when it was gone or never spoken of. */
  nodeOf(subject: Subject): string | null {
    return this.#objects.get(keyOf(subject))?.at(-1)?.node ?? null;
  }

  /** What led to a decision, the nearest cause first. */
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
    // A pushed array would have room for sixteen more, in each of very many entries that mostly have one id.
    entry.ids = entry.ids.concat(id);
    this.#byId.set(id, entry);
    if (entry.ids.length <= IDS_PER_ENTRY_MAX) return;
    this.#byId.delete(entry.ids[0] ?? "");
    entry.ids = entry.ids.slice(1);
  }

  /**
   * Through the API server a cause is lost: a node seen at the version a write of ours left it in was caused by that
   * write.
   */
  #causeOf({ type, id, cause, body }: AnyMessage): string | null {
    if (type === "done.write" && body.kind === "Node" && body.resourceVersion !== null) {
      this.#writes.set(body.uid, { resourceVersion: body.resourceVersion, id });
    }
    if (type !== "observed.node") return cause;
    const write = this.#writes.get(body.uid);
    return write?.resourceVersion === body.resourceVersion ? write.id : cause;
  }

  #forget(entries: readonly HistoryEntry[]): void {
    this.#size -= entries.length;
    for (const { ids } of entries) for (const id of ids) this.#byId.delete(id);
  }
}

function nodeOf({ type, body }: AnyMessage): string | null {
  return !("node" in body) || (type === "done.write" && body.outcome === "gone") ? null : body.node;
}

/** Whether the same happened once more; what is told late happened before and is no repetition. */
function isAgain(last: Decision, text: string, at: number): boolean {
  return last.text === text && last.at <= at;
}

/** Puts an item into a row by time, behind its equals: nearly always at the end. */
function insert<T>(row: T[], item: T, atOf: (item: T) => number): void {
  row.splice(row.findLastIndex((other) => atOf(other) <= atOf(item)) + 1, 0, item);
}

function keyOf({ kind, namespace, name }: Subject): string {
  return `${kind}/${namespace}/${name}`;
}
