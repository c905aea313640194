/** Joins live reads of the same object: one request serves all callers that need it at about the same time. */
import type { Clock, Kube, ObjectRef, ReadPlace, ReadReply, Urgency } from "../../../protocols/ports.ts";

/** What a read found, and when it was sent and answered on the monotonic clock. */
export interface LiveRead<T> {
  readonly found: T;
  readonly sentAtMs: number;
  readonly readAtMs: number;
}

/** The context and limits of the reads. */
export interface SingleFlightReadsOptions<T> {
  /** What callers use of a reply; called once for each reply, however many callers there are. */
  readonly project: (reply: ReadReply) => T;
  readonly kube: Pick<Kube, "read">;
  /**
   * Reads in place of `kube`, and gives a reply or what a proven watch shows instead, by a read that was sent at
   * `sentSinceMs` or later; absent where only live reads serve.
   */
  readonly readShown?: (
    ref: ObjectRef,
    need: { readonly place: ReadPlace; readonly sentSinceMs: number },
    done: (found: ReadReply | LiveRead<T>) => void,
  ) => void;
  readonly clock: Clock;
  /** How long a read that found its object serves later callers. */
  readonly keptMs: number;
  /**
   * How many callers the running reads of one urgency may have together; further reads wait in order. Reads ahead of
   * what the writer can send would only grow old.
   */
  readonly waitersMax: number;
}

type Waiter<T> = (read: LiveRead<T>) => void;

interface ReadLane<T> {
  /** Callers of the reads that are running. */
  waiters: number;
  readonly waiting: PendingRead<T>[];
}

/** A read that waits or runs, and its callers. */
interface PendingRead<T> {
  readonly key: string;
  readonly ref: ObjectRef;
  readonly place: ReadPlace;
  readonly waiters: Waiter<T>[];
  readonly lane: ReadLane<T>;
  /** The latest instant known to be before its sending; infinite while it waits. */
  sentAtMs: number;
  /** Since when it must be sent for all its callers. */
  sinceMs: number;
}

/** Live reads, joined with those of the same object that wait, run or have just ended. */
export class SingleFlightReads<T> {
  readonly #options: SingleFlightReadsOptions<T>;
  readonly #reads = new Map<string, PendingRead<T>>();
  readonly #kept = new Map<string, LiveRead<T>>();
  readonly #lanes = new Map<Urgency, ReadLane<T>>();

  constructor(options: SingleFlightReadsOptions<T>) {
    this.#options = options;
  }

  /**
   * Reads an object live, or from a read within `keptMs`, which was sent at `sentSinceMs` or later. `done` is called
   * later, never within this call.
   */
  read(ref: ObjectRef, done: Waiter<T>, place: ReadPlace, sentSinceMs = Number.NEGATIVE_INFINITY): void {
    const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
    const kept = this.#kept.get(key);
    const known = this.#reads.get(key);
    if (kept !== undefined && kept.sentAtMs >= sentSinceMs) this.#options.clock.soon(() => done(kept));
    else if (known !== undefined && known.sentAtMs >= sentSinceMs) join(known, done, sentSinceMs);
    else {
      const lane = this.#laneOf(place.urgency);
      const sentAtMs = Number.POSITIVE_INFINITY;
      this.#enlist({ key, ref, place, waiters: [done], lane, sentAtMs, sinceMs: sentSinceMs });
    }
  }

  #laneOf(urgency: Urgency): ReadLane<T> {
    const lane = this.#lanes.get(urgency) ?? { waiters: 0, waiting: [] };
    this.#lanes.set(urgency, lane);
    return lane;
  }

  #enlist(read: PendingRead<T>): void {
    this.#reads.set(read.key, read);
    read.lane.waiting.push(read);
    this.#advance(read.lane);
  }

  /** Starts waiting reads up to the limit, and at least one even if it has more callers. */
  #advance(lane: ReadLane<T>): void {
    for (let next = lane.waiting[0]; next !== undefined; next = lane.waiting[0]) {
      if (lane.waiters > 0 && lane.waiters + next.waiters.length > this.#options.waitersMax) return;
      lane.waiting.shift();
      this.#send(next);
    }
  }

  #send(read: PendingRead<T>): void {
    const { kube, clock, project, readShown } = this.#options;
    read.sentAtMs = clock.monotonicMs();
    read.lane.waiters += read.waiters.length;
    const onReply = (reply: ReadReply): void => {
      const { sentAtMs } = read;
      this.#end(read, { found: project(reply), sentAtMs, readAtMs: clock.monotonicMs() }, reply.outcome === "ok");
    };
    const sent = (): void => {
      read.sentAtMs = clock.monotonicMs();
      read.place.sent?.();
    };
    const place = { ...read.place, sent };
    const readLive = (): void => kube.read(read.ref, onReply, place);
    if (readShown === undefined) {
      readLive();
      return;
    }
    readShown(read.ref, { place, sentSinceMs: read.sinceMs }, (found) => {
      if ("outcome" in found) onReply(found);
      // A caller that has joined meanwhile may need a later one.
      else if (found.sentAtMs < read.sinceMs) readLive();
      else this.#end(read, found, false);
    });
  }

  #end(read: PendingRead<T>, found: LiveRead<T>, isKept: boolean): void {
    read.lane.waiters -= read.waiters.length;
    this.#share(read, found, isKept);
    this.#advance(read.lane);
  }

  #share(ended: PendingRead<T>, read: LiveRead<T>, isKept: boolean): void {
    const { key, waiters } = ended;
    if (this.#reads.get(key) === ended) this.#reads.delete(key);
    if (isKept && read.sentAtMs >= (this.#kept.get(key)?.sentAtMs ?? Number.NEGATIVE_INFINITY)) this.#keep(key, read);
    for (const waiter of waiters) waiter(read);
  }

  #keep(key: string, read: LiveRead<T>): void {
    this.#kept.set(key, read);
    this.#options.clock.after(this.#options.keptMs, () => {
      if (this.#kept.get(key) === read) this.#kept.delete(key);
    });
  }
}

function join<T>(read: PendingRead<T>, waiter: Waiter<T>, sentSinceMs: number): void {
  read.waiters.push(waiter);
  read.sinceMs = Math.max(read.sinceMs, sentSinceMs);
  if (Number.isFinite(read.sentAtMs)) read.lane.waiters++;
}
