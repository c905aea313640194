/** The last changes of one collection, bounded in number. Older ones are forgotten, as after a compaction. */
import type { Change } from "./stored.ts";

/** A ring of changes in the order of their revisions. */
export class History {
  readonly #changes: (Change | undefined)[];
  #first = 0;
  #count = 0;
  #forgottenUpTo = 0;

  constructor(changesMax: number) {
    this.#changes = Array.from({ length: changesMax });
  }

  /** Adds the newest change; the oldest is forgotten when the ring is full. */
  add(change: Change): void {
    if (this.#count === this.#changes.length) this.#dropOldest();
    this.#changes[(this.#first + this.#count) % this.#changes.length] = change;
    this.#count += 1;
  }

  /** Every change after a revision, oldest first; null when some of them are forgotten. */
  after(revision: number): Change[] | null {
    if (revision < this.#forgottenUpTo) return null;
    const found: Change[] = [];
    for (let back = this.#count - 1; back >= 0; back--) {
      const change = this.#changes[(this.#first + back) % this.#changes.length];
      if (change === undefined || change.now.revision <= revision) break;
      found.push(change);
    }
    return found.reverse();
  }

  /** Forgets every change up to and including a revision. */
  compact(revision: number): void {
    while (this.#count > 0 && (this.#changes[this.#first]?.now.revision ?? 0) <= revision) this.#dropOldest();
    this.#forgottenUpTo = Math.max(this.#forgottenUpTo, revision);
  }

  #dropOldest(): void {
    this.#forgottenUpTo = this.#changes[this.#first]?.now.revision ?? this.#forgottenUpTo;
    this.#changes[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#changes.length;
    this.#count -= 1;
  }
}
