/**
 * One version of one object as the store keeps it, and one change from a version to the next. Neither is ever changed.
 */
import type { ApiObject } from "../api-objects.ts";

/**
 * One version of an object. It is kept as JSON text, because most objects are only ever passed on, and a text costs a
 * tenth of the memory of the parsed object and nothing in garbage collection.
 */
export class Stored {
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly revision: number;
  /** The object with its resourceVersion; begins with kind and apiVersion. */
  readonly json: string;
  /** The node a pod is bound to; "" for everything else. */
  readonly node: string;
  /** A pod's phase; "" for everything else. */
  readonly phase: string;
  /** Whether a deletion has been asked for. */
  readonly terminating: boolean;

  constructor(fields: Omit<Stored, "object" | "at">) {
    this.namespace = fields.namespace;
    this.name = fields.name;
    this.uid = fields.uid;
    this.revision = fields.revision;
    this.json = fields.json;
    this.node = fields.node;
    this.phase = fields.phase;
    this.terminating = fields.terminating;
  }

  /** The same state under a later revision. */
  at(revision: number): Stored {
    const { namespace, name, uid, node, phase, terminating } = this;
    const object = this.object();
    object.metadata.resourceVersion = String(revision);
    return new Stored({ namespace, name, uid, node, phase, terminating, revision, json: JSON.stringify(object) });
  }

  /** A fresh copy that the caller may change. */
  object(): ApiObject {
    return JSON.parse(this.json);
  }
}

/** What happened to an object. */
export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

const LINE_FEED = "\n";

/** One change of one object; `now` of a deletion is its last state under the revision of the deletion. */
export class Change {
  readonly type: ChangeType;
  readonly now: Stored;
  readonly before: Stored | null;
  #lines: Map<string, Uint8Array> | null = null;

  constructor(type: ChangeType, now: Stored, before: Stored | null) {
    this.type = type;
    this.now = now;
    this.before = before;
  }

  /** The watch event of this change under a type, as one line of bytes; made once and shared by all who watch. */
  line(type: ChangeType): Uint8Array {
    this.#lines ??= new Map();
    const known = this.#lines.get(type);
    if (known !== undefined) return known;
    const bytes = Buffer.from(`{"type":"${type}","object":${this.now.json}}${LINE_FEED}`);
    this.#lines.set(type, bytes);
    return bytes;
  }

  /** Frees the shared bytes once they have been handed out; they can be made again. */
  forgetLines(): void {
    this.#lines = null;
  }
}
