/** Resyncs shards one after the other, in steps, so that a resync does not delay other events. */
import type { Clock } from "../../protocols/ports.ts";

/** The resync of one shard. */
export interface ResyncJob {
  /** Begins to publish the shard; each step of the iterator publishes a part. */
  begin(cause: string | null): Iterator<void>;
  /** Ends the resync after the last step. */
  close(cause: string | null): void;
}

/** Shards that wait for a resync. One resync answers all requests made before it begins. */
export class ResyncQueue {
  readonly #clock: Clock;
  readonly #jobs: readonly ResyncJob[];
  /** Waiting shards in the order of their requests, each with the id of the first one. */
  readonly #waiting = new Map<number, string | null>();
  #isRunning = false;
  #hasEnded = false;

  constructor(clock: Clock, jobs: readonly ResyncJob[]) {
    this.#clock = clock;
    this.#jobs = jobs;
  }

  /** Requests the resync of a shard; ignores a shard that does not exist. */
  request(shard: number, cause: string | null): void {
    if (this.#jobs[shard] === undefined) return;
    this.#waiting.set(shard, this.#waiting.get(shard) ?? cause);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#next();
  }

  stop(): void {
    this.#hasEnded = true;
    this.#waiting.clear();
  }

  #next(): void {
    const first = this.#waiting.entries().next();
    const job = first.done === true ? undefined : this.#jobs[first.value[0]];
    if (first.done === true || job === undefined) {
      this.#isRunning = false;
      return;
    }
    const [shard, cause] = first.value;
    this.#waiting.delete(shard);
    const steps = job.begin(cause);
    const step = (): void => {
      if (this.#hasEnded) return;
      const isDone = steps.next().done === true;
      // A reader that requested it meanwhile has missed the beginning, so the resync closes only after another round.
      if (isDone && !this.#waiting.has(shard)) job.close(cause);
      this.#clock.after(0, isDone ? () => this.#next() : step);
    };
    step();
  }
}
