/** The most recent changes of one collection. Older ones are dropped, as after a compaction. */
import type { Change } from "./stored.ts";

/** Changes by revision. */
export class History {
  readonly #changesMax: number;
  #changes: Change[] = [];
  /** Index of the oldest kept change; dropped ones are cut off once they are half of the list. */
  #start = 0;
  #forgottenUpTo = 0;

  constructor(changesMax: number) {
    this.#changesMax = changesMax;
  }

  /** Adds the newest change; drops the oldest when there are too many. */
  add(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length - this.#start > this.#changesMax) this.#forgetOldest();
  }

  /** The changes after a revision, oldest first; null when some of them have been dropped. */
  after(revision: number): Change[] | null {
    if (revision < this.#forgottenUpTo) return null;
    let from = this.#changes.length;
    while (from > this.#start && this.#revisionAt(from - 1) > revision) from -= 1;
    return this.#changes.slice(from);
  }

  /** Drops the changes up to and including a revision. */
  compact(revision: number): void {
    while (this.#start < this.#changes.length && this.#revisionAt(this.#start) <= revision) this.#forgetOldest();
    this.#forgottenUpTo = Math.max(this.#forgottenUpTo, revision);
  }

  /** Drops every change; the next one follows this revision, which may be older than the last. */
  restart(revision: number): void {
    this.#changes = [];
    this.#start = 0;
    this.#forgottenUpTo = revision;
  }

  #revisionAt(index: number): number {
    return this.#changes[index]?.now.revision ?? 0;
  }

  #forgetOldest(): void {
    this.#forgottenUpTo = this.#revisionAt(this.#start);
    this.#start += 1;
    if (this.#start * 2 < this.#changes.length) return;
    this.#changes = this.#changes.slice(this.#start);
    this.#start = 0;
  }
}
