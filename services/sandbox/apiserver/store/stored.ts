/** One stored version of one object, and one change between versions. Both are immutable. */
import type { ApiObject } from "../api-objects.ts";

/**
 * One version of an object, kept as JSON text: most objects are only passed on, and text costs a tenth of the parsed
 * object's memory and no garbage collection.
 */
export class Stored {
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly revision: number;
  /** The object with its resourceVersion; begins with kind and apiVersion. */
  readonly json: string;
  /** A pod's node; "" for everything else. */
  readonly node: string;
  /** A pod's phase; "" for everything else. */
  readonly phase: string;
  /** Whether the object is marked for deletion. */
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

/** The type of a change. */
export type ChangeType = "ADDED" | "MODIFIED" | "DELETED";

/** One change of one object. `now` of a deletion is the last state under the revision of the deletion. */
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

  /** This change as one line of a watch; built once and shared by all watchers. */
  line(type: ChangeType): Uint8Array {
    this.#lines ??= new Map();
    const known = this.#lines.get(type);
    if (known !== undefined) return known;
    const bytes = Buffer.from(`{"type":"${type}","object":${this.now.json}}\n`);
    this.#lines.set(type, bytes);
    return bytes;
  }

  /** Frees the shared bytes once they have been sent; `line` can build them again. */
  forgetLines(): void {
    this.#lines = null;
  }
}
