/** Republishes what a service knows of a shard, some at a time, so that other work continues in between. */
import type { Clock, Timer } from "../../../protocols/ports.ts";

/** How much is published again before the event loop continues with other work. */
const PER_TURN = 256;

/** What is published again, and how. */
export interface RepublishingOptions<T> {
  readonly clock: Pick<Clock, "after">;
  /** Everything that is known now. It may change during the iteration. */
  readonly known: () => Iterable<T>;
  /** Publishes one of them, caused by the message that requests it. */
  readonly publish: (each: T, cause: string) => void;
}

/** One round after the other over everything that is known. */
export class Republishing<T> {
  readonly #options: RepublishingOptions<T>;
  /** What is still to be published in the present round; null between rounds. */
  #left: Iterator<T> | null = null;
  #turn: Timer | null = null;

  constructor(options: RepublishingOptions<T>) {
    this.#options = options;
  }

  /** Begins a round. One that is under way starts again, because the new requester has missed its beginning. */
  begin(cause: string): void {
    const isUnderWay = this.#left !== null;
    this.#left = this.#options.known()[Symbol.iterator]();
    if (!isUnderWay) this.#publishSome(cause);
  }

  /** Ends the present round. */
  stop(): void {
    this.#left = null;
    this.#turn?.cancel();
  }

  #publishSome(cause: string): void {
    for (let published = 0; published < PER_TURN; published++) {
      const next = this.#left?.next();
      if (next === undefined || next.done === true) {
        this.#left = null;
        return;
      }
      this.#options.publish(next.value, cause);
    }
    this.#turn = this.#options.clock.after(0, () => this.#publishSome(cause));
  }
}
