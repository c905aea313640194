/** Objects of a shard that are too large for a message. Each is logged once and counted while it stays too large. */
import type { Log } from "../../protocols/ports.ts";

/** The unpublished objects of one shard. */
export class Unpublished {
  readonly #log: Log;
  readonly #nodes = new Set<string>();
  /** Pods, as namespace/name, by their node. */
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

  noteNode(node: string, isPublished: boolean): void {
    if (isPublished) this.#nodes.delete(node);
    else if (!this.#nodes.has(node)) {
      this.#nodes.add(node);
      this.#log.warn("node not published: it exceeds a message", { node });
    }
  }

  notePods(node: string, names: readonly string[]): void {
    const before = this.#pods.get(node);
    for (const pod of names) {
      if (before?.has(pod) !== true) this.#log.warn("pod not published: it exceeds a message", { node, pod });
    }
    if (names.length === 0) this.#pods.delete(node);
    else this.#pods.set(node, new Set(names));
  }

  forget(node: string): void {
    this.#nodes.delete(node);
    this.#pods.delete(node);
  }
}
