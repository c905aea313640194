/** One live look for all who want the same object at about the same moment. What they want it for it does not know. */
import type { Clock, Kube, ObjectRef, ReadPlace, ReadReply, Urgency } from "../../../protocols/ports.ts";

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
   * How many viewers the looks of one urgency that are under way may have together; further looks wait in the order
   * they came. Looks that allow more writes than can be sent would only grow old.
   */
  readonly viewersMax: number;
}

type Viewer = (look: Look) => void;

/** Looks of one urgency. */
interface Line {
  /** Viewers of the looks that are under way. */
  viewers: number;
  readonly waiting: Read[];
}

/** A look that waits or is under way, and all who want it. */
interface Read {
  readonly key: string;
  readonly ref: ObjectRef;
  readonly place: ReadPlace;
  readonly viewers: Viewer[];
  readonly line: Line;
  isUnderWay: boolean;
}

/** Live reads, put together with those of the same object that are under way or have just ended. */
export class SharedReads {
  readonly #options: SharedReadsOptions;
  readonly #reads = new Map<string, Read>();
  readonly #kept = new Map<string, Look>();
  readonly #lines = new Map<Urgency, Line>();

  constructor(options: SharedReadsOptions) {
    this.#options = options;
  }

  /** Looks at an object past every cache but this one. The look comes later, never within the call. */
  read(ref: ObjectRef, done: Viewer, place: ReadPlace): void {
    const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
    const kept = this.#kept.get(key);
    const known = this.#reads.get(key);
    if (kept !== undefined) this.#options.clock.soon(() => done(kept));
    else if (known !== undefined) join(known, done);
    else this.#enlist({ key, ref, place, viewers: [done], line: this.#lineOf(place.urgency), isUnderWay: false });
  }

  #lineOf(urgency: Urgency): Line {
    const line = this.#lines.get(urgency) ?? { viewers: 0, waiting: [] };
    this.#lines.set(urgency, line);
    return line;
  }

  #enlist(read: Read): void {
    this.#reads.set(read.key, read);
    read.line.waiting.push(read);
    this.#advance(read.line);
  }

  /** Starts what may start: one look at least, however many want it. */
  #advance(line: Line): void {
    for (let next = line.waiting[0]; next !== undefined; next = line.waiting[0]) {
      if (line.viewers > 0 && line.viewers + next.viewers.length > this.#options.viewersMax) return;
      line.waiting.shift();
      this.#look(next);
    }
  }

  #look(read: Read): void {
    const { kube, clock } = this.#options;
    read.isUnderWay = true;
    read.line.viewers += read.viewers.length;
    const take = (reply: ReadReply): void => {
      read.line.viewers -= read.viewers.length;
      this.#share(read, { reply, seenMs: clock.monotonicMs() });
      this.#advance(read.line);
    };
    kube.read(read.ref, take, read.place);
  }

  #share({ key, viewers }: Read, look: Look): void {
    this.#reads.delete(key);
    if (look.reply.outcome === "ok") {
      this.#kept.set(key, look);
      this.#options.clock.after(this.#options.keptMs, () => this.#kept.delete(key));
    }
    for (const viewer of viewers) viewer(look);
  }
}

function join(read: Read, viewer: Viewer): void {
  read.viewers.push(viewer);
  if (read.isUnderWay) read.line.viewers++;
}
