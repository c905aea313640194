/** Publishes what a service holds of a shard again, some at a time, so that other work goes on between. */
import type { Clock, Timer } from "../../../protocols/ports.ts";

/** How much is published again before the event loop continues with other work. */
const PER_TURN = 256;

/** What is published again, and how. */
export interface RepublishingOptions<T> {
  readonly clock: Pick<Clock, "after">;
  /** Everything that is held now. It may change while it is walked. */
  readonly known: () => Iterable<T>;
  /** Publishes one of them, by the message that asks for it. */
  readonly publish: (each: T, cause: string) => void;
}

/** One round after the other over everything that is held. */
export class Republishing<T> {
  readonly #options: RepublishingOptions<T>;
  /** What is still to be published in the present round; null between rounds. */
  #left: Iterator<T> | null = null;
  #turn: Timer | null = null;

  constructor(options: RepublishingOptions<T>) {
    this.#options = options;
  }

  /** Begins a round. One that is under way starts again, because who asks now has missed its beginning. */
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
