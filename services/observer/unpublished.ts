/**
 * Which objects of a shard no message can hold. Readers know nothing of them, so that each is named in the log once and
 * counted as long as that lasts.
 */
import type { Log } from "../../protocols/ports.ts";

/** The objects of one shard that are not published. */
export class Unpublished {
  readonly #log: Log;
  readonly #nodes = new Set<string>();
  /** The names of pods by their node. */
  readonly #pods = new Map<string, ReadonlySet<string>>();

  constructor(log: Log) {
    this.#log = log;
  }

  get nodes(): number {
    return this.#nodes.size;
  }

  get pods(): number {
    let count = 0;
    for (const names of this.#pods.values()) count += names.size;
    return count;
  }

  /** Notes whether a node could be published. */
  noteNode(node: string, isPublished: boolean): void {
    if (isPublished) this.#nodes.delete(node);
    else if (!this.#nodes.has(node)) {
      this.#nodes.add(node);
      this.#log.warn("node not published: it exceeds a message", { node });
    }
  }

  /** Notes which pods of a node could not be published. */
  notePods(node: string, names: readonly string[]): void {
    const before = this.#pods.get(node);
    for (const pod of names) {
      if (before?.has(pod) !== true) this.#log.warn("pod not published: it exceeds a message", { node, pod });
    }
    if (names.length === 0) this.#pods.delete(node);
    else this.#pods.set(node, new Set(names));
  }

  /** Forgets a node that has gone. */
  forget(node: string): void {
    this.#nodes.delete(node);
    this.#pods.delete(node);
  }
}
