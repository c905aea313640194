/** Keys of objects to reconcile: each once, however often it was added, just after the write that added it. */
import type { Clock } from "../../../protocols/ports.ts";

/** A queue on a clock. */
export class WorkQueue {
  readonly #clock: Pick<Clock, "soon">;
  readonly #reconcile: (key: string) => void;
  readonly #waiting = new Set<string>();

  constructor(clock: Pick<Clock, "soon">, reconcile: (key: string) => void) {
    this.#clock = clock;
    this.#reconcile = reconcile;
  }

  /** Reconciles an object soon. */
  add(key: string): void {
    if (this.#waiting.has(key)) return;
    this.#waiting.add(key);
    this.#clock.soon(() => {
      this.#waiting.delete(key);
      this.#reconcile(key);
    });
  }
}
