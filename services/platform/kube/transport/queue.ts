/**
 * A queue of requests: the most urgent first, one in flight per object, no more at once than admitted. It knows nothing
 * of HTTP.
 */

/** A queued request. */
export interface QueuedRequest {
  /** Requests of one lane run one after the other; null for a request that may run beside any other. */
  readonly lane: string | null;
  /** Lower goes first; a small integer. */
  readonly urgency: number;
  /** At most one background request runs beside others. */
  readonly isBackground?: boolean;
  /** Starts it; `ended` must be called once, later. */
  readonly run: (ended: () => void) => void;
}

/** Requests for one object, by urgency and then by arrival. The first one is also in a line below. */
interface Lane {
  readonly jobs: QueuedRequest[];
  busy: boolean;
}

/** Requests by urgency and lane. */
export class Queue {
  readonly #lanes = new Map<string, Lane>();
  readonly #lines: Line[] = [];
  readonly #admit: () => boolean;
  #underWay = 0;
  #backgroundUnderWay = 0;
  #waiting = 0;
  #draining = false;

  /** `admit` is called before each start: whether one more may run now. */
  constructor(admit: () => boolean) {
    this.#admit = admit;
  }

  /** Requests started and not ended. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Requests not started. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Adds a request and starts what may start. */
  add(job: QueuedRequest): void {
    this.#waiting++;
    if (job.lane === null) this.#offer(job);
    else this.#enlist(job, job.lane);
    this.drain();
  }

  /** Starts what may start; call it when more is admitted than before. A request may add others while it starts. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    try {
      for (let job = this.#next(); job !== undefined; job = this.#next()) this.#start(job);
    } finally {
      this.#draining = false;
    }
  }

  #enlist(job: QueuedRequest, key: string): void {
    const lane = this.#lanes.get(key) ?? { jobs: [], busy: false };
    this.#lanes.set(key, lane);
    const place = lane.jobs.findIndex((other) => other.urgency > job.urgency);
    lane.jobs.splice(place < 0 ? lane.jobs.length : place, 0, job);
    if (!lane.busy && lane.jobs[0] === job) this.#offer(job);
  }

  #offer(job: QueuedRequest): void {
    const line = this.#lines[job.urgency] ?? new Line();
    this.#lines[job.urgency] = line;
    line.push(job);
  }

  #next(): QueuedRequest | undefined {
    for (const line of this.#lines) {
      // A request that was overtaken in its lane is skipped; its lane offers it again.
      while (line?.first !== undefined && !this.#isStartable(line.first)) line.shift();
      if (line?.first !== undefined) return this.#hasRoomFor(line.first) && this.#admit() ? line.shift() : undefined;
    }
    return undefined;
  }

  /**
   * Other requests may lead to more of their kind at any moment; background requests must not keep the server busy
   * then.
   */
  #hasRoomFor({ isBackground = false }: QueuedRequest): boolean {
    return !isBackground || this.#backgroundUnderWay === 0 || this.#backgroundUnderWay === this.#underWay;
  }

  #isStartable(job: QueuedRequest): boolean {
    if (job.lane === null) return true;
    const lane = this.#lanes.get(job.lane);
    return lane !== undefined && !lane.busy && lane.jobs[0] === job;
  }

  #start(job: QueuedRequest): void {
    const lane = job.lane === null ? undefined : this.#lanes.get(job.lane);
    if (lane !== undefined) {
      lane.jobs.shift();
      lane.busy = true;
    }
    const background = job.isBackground === true ? 1 : 0;
    this.#waiting--;
    this.#underWay++;
    this.#backgroundUnderWay += background;
    job.run(() => {
      this.#underWay--;
      this.#backgroundUnderWay -= background;
      this.#free(job.lane, lane);
      this.drain();
    });
  }

  #free(key: string | null, lane: Lane | undefined): void {
    if (key === null || lane === undefined) return;
    lane.busy = false;
    const [next] = lane.jobs;
    if (next === undefined) this.#lanes.delete(key);
    else this.#offer(next);
  }
}

/** First in, first out, without moving the rest at each shift. */
class Line {
  #jobs: QueuedRequest[] = [];
  #head = 0;

  get first(): QueuedRequest | undefined {
    return this.#jobs[this.#head];
  }

  push(job: QueuedRequest): void {
    this.#jobs.push(job);
  }

  shift(): QueuedRequest | undefined {
    const job = this.#jobs[this.#head++];
    if (this.#head * 2 > this.#jobs.length) {
      this.#jobs = this.#jobs.slice(this.#head);
      this.#head = 0;
    }
    return job;
  }
}
