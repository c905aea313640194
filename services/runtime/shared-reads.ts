/** One live look for all who want the same object at about the same moment. What they want it for it does not know. */
import type { Clock, Kube, ObjectRef, ReadPlace, ReadReply, Urgency } from "../../protocols/ports.ts";

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
  /**
   * How many looks of one urgency are under way at once; others wait in the order they came. Looks far ahead of the
   * writes they allow would only grow old.
   */
  readonly underWayMax: number;
}

type Viewer = (look: Look) => void;

/** Looks of one urgency. */
interface Line {
  underWay: number;
  readonly waiting: (() => void)[];
}

/** Live reads, put together with those of the same object that are under way or have just ended. */
export class SharedReads {
  readonly #options: SharedReadsOptions;
  readonly #viewers = new Map<string, Viewer[]>();
  readonly #kept = new Map<string, Look>();
  readonly #lines = new Map<Urgency, Line>();

  constructor(options: SharedReadsOptions) {
    this.#options = options;
  }

  /** Looks at an object past every cache but this one. The look comes later, never within the call. */
  read(ref: ObjectRef, done: Viewer, place: ReadPlace): void {
    const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
    const kept = this.#kept.get(key);
    const viewers = this.#viewers.get(key);
    if (kept !== undefined) this.#options.clock.soon(() => done(kept));
    else if (viewers !== undefined) viewers.push(done);
    else {
      this.#viewers.set(key, [done]);
      this.#enlist(place.urgency, (ended) => this.#look(key, ref, place, ended));
    }
  }

  #enlist(urgency: Urgency, look: (ended: () => void) => void): void {
    const line = this.#lines.get(urgency) ?? { underWay: 0, waiting: [] };
    this.#lines.set(urgency, line);
    const start = (): void => {
      line.underWay++;
      look(() => {
        line.underWay--;
        line.waiting.shift()?.();
      });
    };
    if (line.underWay < this.#options.underWayMax) start();
    else line.waiting.push(start);
  }

  #look(key: string, ref: ObjectRef, place: ReadPlace, ended: () => void): void {
    const { kube, clock } = this.#options;
    const take = (reply: ReadReply): void => {
      this.#share(key, { reply, seenMs: clock.monotonicMs() });
      ended();
    };
    kube.read(ref, take, place);
  }

  #share(key: string, look: Look): void {
    const viewers = this.#viewers.get(key) ?? [];
    this.#viewers.delete(key);
    if (look.reply.outcome === "ok") {
      this.#kept.set(key, look);
      this.#options.clock.after(this.#options.keptMs, () => this.#kept.delete(key));
    }
    for (const viewer of viewers) viewer(look);
  }
}
