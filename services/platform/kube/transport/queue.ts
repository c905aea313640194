/**
 * Requests that wait for their turn: the most urgent first, one under way per object, no more at once than admitted.
 * It knows nothing of HTTP.
 */

/** Something to do. */
export interface QueuedRequest {
  /** Jobs of one lane run one after the other; null for a job that may run beside any other. */
  readonly lane: string | null;
  /** Lower goes first: a small whole number. */
  readonly urgency: number;
  /** Beside others only one such job is under way at a time; true for what nobody waits for. */
  readonly isBackground?: boolean;
  /** Starts it; `ended` is to be called once, later. */
  readonly run: (ended: () => void) => void;
}

/** Jobs that belong to one object, by urgency and then by arrival; the first of them is also in a line below. */
interface Lane {
  readonly jobs: QueuedRequest[];
  busy: boolean;
}

/** The queue. */
export class Queue {
  readonly #lanes = new Map<string, Lane>();
  readonly #lines: Line[] = [];
  readonly #admit: () => boolean;
  #underWay = 0;
  #backgroundUnderWay = 0;
  #waiting = 0;
  #draining = false;

  /** `admit` is asked before each start whether one more may run now. */
  constructor(admit: () => boolean) {
    this.#admit = admit;
  }

  /** How many jobs have been started and have not ended. */
  get underWay(): number {
    return this.#underWay;
  }

  /** How many jobs have not been started. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a job and starts what may start. */
  add(job: QueuedRequest): void {
    this.#waiting++;
    if (job.lane === null) this.#offer(job);
    else this.#enlist(job, job.lane);
    this.drain();
  }

  /**
   * Starts what may start; to be called when more is admitted than before. A job that is being started may add jobs.
   */
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
      // A job that was overtaken in its lane since it was offered is passed over; its lane offers it again.
      while (line?.first !== undefined && !this.#isStartable(line.first)) line.shift();
      if (line?.first !== undefined) return this.#hasRoomFor(line.first) && this.#admit() ? line.shift() : undefined;
    }
    return undefined;
  }

  /** Other jobs may lead to more of their kind at any moment; background jobs must not keep the server busy then. */
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

/** First in, first out, without moving what waits each time one leaves. */
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
