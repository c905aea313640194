/** One live look for all who want the same object at about the same moment. What they want it for it does not know. */
import type { Clock, Kube, ObjectRef, ReadPlace, ReadReply, Urgency } from "../../../protocols/ports.ts";

/** What was read, and when its reply came on the monotonic clock. */
export interface LiveRead {
  readonly reply: ReadReply;
  readonly readAtMs: number;
}

/** What looks are made of. */
export interface SingleFlightReadsOptions {
  readonly kube: Pick<Kube, "read">;
  readonly clock: Clock;
  /** How long a look that found its object serves those who come later. */
  readonly keptMs: number;
  /**
   * How many viewers the looks of one urgency that are under way may have together; further looks wait in the order
   * they came. Looks that allow more writes than can be sent would only grow old.
   */
  readonly waitersMax: number;
}

type Waiter = (read: LiveRead) => void;

/** Looks of one urgency. */
interface ReadLane {
  /** Viewers of the looks that are under way. */
  waiters: number;
  readonly waiting: PendingRead[];
}

/** A look that waits or is under way, and all who want it. */
interface PendingRead {
  readonly key: string;
  readonly ref: ObjectRef;
  readonly place: ReadPlace;
  readonly waiters: Waiter[];
  readonly lane: ReadLane;
  isUnderWay: boolean;
}

/** Live reads, put together with those of the same object that are under way or have just ended. */
export class SingleFlightReads {
  readonly #options: SingleFlightReadsOptions;
  readonly #reads = new Map<string, PendingRead>();
  readonly #kept = new Map<string, LiveRead>();
  readonly #lanes = new Map<Urgency, ReadLane>();

  constructor(options: SingleFlightReadsOptions) {
    this.#options = options;
  }

  /** Looks at an object past every cache but this one. The look comes later, never within the call. */
  read(ref: ObjectRef, done: Waiter, place: ReadPlace): void {
    const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
    const kept = this.#kept.get(key);
    const known = this.#reads.get(key);
    if (kept !== undefined) this.#options.clock.soon(() => done(kept));
    else if (known !== undefined) join(known, done);
    else this.#enlist({ key, ref, place, waiters: [done], lane: this.#laneOf(place.urgency), isUnderWay: false });
  }

  #laneOf(urgency: Urgency): ReadLane {
    const lane = this.#lanes.get(urgency) ?? { waiters: 0, waiting: [] };
    this.#lanes.set(urgency, lane);
    return lane;
  }

  #enlist(read: PendingRead): void {
    this.#reads.set(read.key, read);
    read.lane.waiting.push(read);
    this.#advance(read.lane);
  }

  /** Starts what may start: one look at least, however many want it. */
  #advance(lane: ReadLane): void {
    for (let next = lane.waiting[0]; next !== undefined; next = lane.waiting[0]) {
      if (lane.waiters > 0 && lane.waiters + next.waiters.length > this.#options.waitersMax) return;
      lane.waiting.shift();
      this.#send(next);
    }
  }

  #send(read: PendingRead): void {
    const { kube, clock } = this.#options;
    read.isUnderWay = true;
    read.lane.waiters += read.waiters.length;
    const take = (reply: ReadReply): void => {
      read.lane.waiters -= read.waiters.length;
      this.#share(read, { reply, readAtMs: clock.monotonicMs() });
      this.#advance(read.lane);
    };
    kube.read(read.ref, take, read.place);
  }

  #share({ key, waiters }: PendingRead, read: LiveRead): void {
    this.#reads.delete(key);
    if (read.reply.outcome === "ok") {
      this.#kept.set(key, read);
      this.#options.clock.after(this.#options.keptMs, () => this.#kept.delete(key));
    }
    for (const viewer of waiters) viewer(read);
  }
}

function join(read: PendingRead, waiter: Waiter): void {
  read.waiters.push(waiter);
  if (read.isUnderWay) read.lane.waiters++;
}
