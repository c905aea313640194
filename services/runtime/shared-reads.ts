/** One live look for all who want the same object at about the same moment. What it is used for is not its matter. */
import type { Clock, Kube, ObjectRef, ReadPlace, ReadReply } from "../../protocols/ports.ts";

/** What was read, and when its reply came on the monotonic clock. */
export interface Look {
  readonly reply: ReadReply;
  readonly seenMs: number;
}

/** What looks are made of. */
export interface SharedReadsOptions {
  readonly kube: Pick<Kube, "read">;
  readonly clock: Clock;
  /** How long a look that found its object serves those who come later. */
  readonly keptMs: number;
}

type Viewer = (look: Look) => void;

/** Live reads, put together with those of the same object that are under way or have just ended. */
export class SharedReads {
  readonly #options: SharedReadsOptions;
  readonly #waiting = new Map<string, Viewer[]>();
  readonly #kept = new Map<string, Look>();

  constructor(options: SharedReadsOptions) {
    this.#options = options;
  }

  /** Looks at an object past every cache but this one. The look comes later, never within the call. */
  read(ref: ObjectRef, done: Viewer, place?: ReadPlace): void {
    const { kube, clock } = this.#options;
    const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
    const kept = this.#kept.get(key);
    const waiting = this.#waiting.get(key);
    if (kept !== undefined) clock.soon(() => done(kept));
    else if (waiting !== undefined) waiting.push(done);
    else {
      this.#waiting.set(key, [done]);
      kube.read(ref, (reply) => this.#share(key, { reply, seenMs: clock.monotonicMs() }), place);
    }
  }

  #share(key: string, look: Look): void {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    if (look.reply.outcome === "ok") {
      this.#kept.set(key, look);
      this.#options.clock.after(this.#options.keptMs, () => this.#kept.delete(key));
    }
    for (const viewer of waiting) viewer(look);
  }
}
