/** Tells shards again one after the other, a step at a time, so that a resync never holds up what happens meanwhile. */
import type { Clock } from "../../protocols/ports.ts";

/** How one shard is told again. */
export interface ResyncJob {
  /** Begins the telling; each step of the iterator tells some of it. */
  begin(cause: string | null): Iterator<void>;
  /** All of it has been told. */
  close(cause: string | null): void;
}

/**
 * Shards to tell again. Asks that come while a shard waits are served together; one that comes while it is told begins
 * it anew.
 */
export class ResyncQueue {
  readonly #clock: Clock;
  readonly #jobs: readonly ResyncJob[];
  /** Shards that wait, in the order of asking, each with the id of the first ask. */
  readonly #waiting = new Map<number, string | null>();
  #isRunning = false;
  #hasEnded = false;

  constructor(clock: Clock, jobs: readonly ResyncJob[]) {
    this.#clock = clock;
    this.#jobs = jobs;
  }

  /** Has a shard told again; a shard that is not one of ours is ignored. */
  ask(shard: number, cause: string | null): void {
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
      // Asked for again meanwhile: whoever asked late missed the beginning, so it closes only after the next telling.
      if (isDone && !this.#waiting.has(shard)) job.close(cause);
      this.#clock.after(0, isDone ? () => this.#next() : step);
    };
    step();
  }
}
