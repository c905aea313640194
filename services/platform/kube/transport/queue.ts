/**
 * A queue of requests: the most urgent first, one in flight per object, no more at once than admitted. It knows nothing
 * of HTTP.
 *
 * A request may stall because of its object: an admission webhook that never answers delays the deletions of its pods.
 * Such a request gives its place back, and requests that may stall like it have few places of their own: nothing else
 * waits for them.
 */
import { BoundedMap } from "../../../structures/bounded-map.ts";

/** A queued request. */
export interface QueuedRequest {
  /** Requests of one lane run one after the other; null for a request that may run beside any other. */
  readonly lane: string | null;
  /** Lower goes first; a small integer. */
  readonly urgency: number;
  /** The operation that a stall is attributed to: a verb on an object; absent for none. */
  readonly operation?: string;
  /** The objects that may stall together, such as the pods of one node; absent for none. */
  readonly group?: string;
  /** At most one background request runs beside others. */
  readonly isBackground?: boolean;
  /** Starts it; `ended` must be called once, later. `stalled` gives its place back before that. */
  readonly run: (ended: () => void, stalled: () => void) => void;
}

/** The requests of one group that stall or may stall. */
interface Group {
  /** Requests in flight that have given their places back. */
  stalled: number;
  /** Requests in flight that were started as likely to stall. */
  likelyStalls: number;
  /** Requests that are likely to stall and wait for others of them to end. */
  readonly parked: QueuedRequest[];
}

/** Requests of a group that are likely to stall and run at once. */
const LIKELY_STALLS_MAX = 4;
/** If so many of a group stall, all others of it are likely to stall too. */
const GROUP_STALLED_MAX = 16;
/** Operations beyond this that have stalled are forgotten, the earliest first. */
const OPERATIONS_MAX = 10_000;

/** Requests for one object, by urgency and then by arrival. The first one is also in a line below. */
interface Lane {
  readonly jobs: QueuedRequest[];
  busy: boolean;
}

/** Requests by urgency and lane. */
export class Queue {
  readonly #lanes = new Map<string, Lane>();
  readonly #lines: Line[] = [];
  readonly #groups = new Map<string, Group>();
  /** Operations whose last request stalled. */
  readonly #stalledBefore = new BoundedMap<string, true>(OPERATIONS_MAX);
  readonly #admit: () => boolean;
  readonly #mayStall: () => boolean;
  #underWay = 0;
  #stalled = 0;
  #backgroundUnderWay = 0;
  #waiting = 0;
  #draining = false;

  /**
   * `admit` is called before each start: whether one more may run now. `mayStall` says whether requests that are likely
   * to stall wait for places of their own.
   */
  constructor(admit: () => boolean, mayStall: () => boolean) {
    this.#admit = admit;
    this.#mayStall = mayStall;
  }

  /** Requests started and not ended, without those that stall. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Requests that have given their places back and not ended. */
  get stalled(): number {
    return this.#stalled;
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

  /** Offers all requests that wait in their groups, and starts what may start; call it when `mayStall` changes. */
  offerParked(): void {
    for (const { parked } of this.#groups.values()) for (const job of parked.splice(0)) this.#offer(job);
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
      while (line?.first !== undefined && !(this.#isStartable(line.first) && this.#fits(line.first))) line.shift();
      if (line?.first !== undefined) return this.#hasRoomFor(line.first) && this.#admit() ? line.shift() : undefined;
    }
    return undefined;
  }

  /** Whether a request has a place in its group. One that has none is parked until another of its group ends. */
  #fits(job: QueuedRequest): boolean {
    const group = this.#groups.get(job.group ?? "");
    if (
      group === undefined ||
      !this.#mayStall() ||
      !this.#isLikelyToStall(job) ||
      group.likelyStalls < LIKELY_STALLS_MAX
    )
      return true;
    group.parked.push(job);
    return false;
  }

  /** Whether a request is likely to stall: its operation did the last time, or many of its group do. */
  #isLikelyToStall({ operation = "", group = "" }: QueuedRequest): boolean {
    return this.#stalledBefore.has(operation) || (this.#groups.get(group)?.stalled ?? 0) >= GROUP_STALLED_MAX;
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
    const likelyStalls = this.#isLikelyToStall(job) ? 1 : 0;
    if (likelyStalls > 0) this.#groupOf(job).likelyStalls++;
    let isStalled = false;
    const ended = (): void => {
      if (isStalled) this.#stalled--;
      else {
        this.#underWay--;
        this.#stalledBefore.delete(job.operation ?? "");
      }
      this.#backgroundUnderWay -= background;
      this.#leaveGroup(job, { stalled: isStalled ? 1 : 0, likelyStalls: likelyStalls });
      this.#free(job.lane, lane);
      this.drain();
    };
    job.run(ended, () => {
      isStalled = true;
      this.#stall(job);
    });
  }

  /** Takes the place of a request in flight that stalls. */
  #stall(job: QueuedRequest): void {
    this.#underWay--;
    this.#stalled++;
    this.#groupOf(job).stalled++;
    if (job.operation !== undefined) this.#stalledBefore.set(job.operation, true);
    this.drain();
  }

  #groupOf({ group: key = "" }: QueuedRequest): Group {
    const group = this.#groups.get(key) ?? { stalled: 0, likelyStalls: 0, parked: [] };
    this.#groups.set(key, group);
    return group;
  }

  /** Offers what waits in the group for the end of this request. */
  #leaveGroup({ group: key = "" }: QueuedRequest, left: Pick<Group, "stalled" | "likelyStalls">): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    group.stalled -= left.stalled;
    group.likelyStalls -= left.likelyStalls;
    for (const parked of group.parked.splice(0)) this.#offer(parked);
    if (group.stalled + group.likelyStalls === 0) this.#groups.delete(key);
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
