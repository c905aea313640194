/** One live read for all who want the same object at the same moment. It keeps no answer. */
import type { Kube, ObjectRef, ReadReply } from "../../protocols/ports.ts";

/** Live reads, those of one object under way at once put together. */
export class SharedReads {
  readonly #kube: Pick<Kube, "read">;
  readonly #waiting = new Map<string, ((reply: ReadReply) => void)[]>();

  constructor(kube: Pick<Kube, "read">) {
    this.#kube = kube;
  }

  /** Reads an object past every cache, as Kube.read does. */
  read(ref: ObjectRef, done: (reply: ReadReply) => void): void {
    const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.push(done);
      return;
    }
    this.#waiting.set(key, [done]);
    this.#kube.read(ref, (reply) => {
      const all = this.#waiting.get(key) ?? [];
      this.#waiting.delete(key);
      for (const each of all) each(reply);
    });
  }
}
