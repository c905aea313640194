/** When ledgers recorded: a comparison has gaps where none ran, and says so. */
import type { RunRecord } from "../../../protocols/comparison-record.ts";

/** A span of time, epoch milliseconds. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** The times in which this ledger and earlier ones recorded. */
export class RecordedTimes {
  readonly #member: string;
  readonly #startedAt: number;
  #earlier: readonly Span[] = [];

  /** `startedAt` is when the ledger of this process started, epoch milliseconds. */
  constructor({ member, startedAt }: { readonly member: string; readonly startedAt: number }) {
    this.#member = member;
    this.#startedAt = startedAt;
  }

  /** When the first of them began, epoch milliseconds. */
  get from(): number {
    return this.#earlier.reduce((earliest, { from }) => Math.min(earliest, from), this.#startedAt);
  }

  /** The time of this ledger so far, as it is stored. */
  run(at: number): RunRecord {
    return { kind: "run", member: this.#member, from: this.#startedAt, to: at };
  }

  /** Adds the time of another ledger. */
  restore({ member, from, to }: RunRecord): void {
    if (member !== this.#member || from !== this.#startedAt) this.#earlier = [...this.#earlier, { from, to }];
  }

  /** Drops times that ended before an instant. */
  forgetBefore(at: number): void {
    this.#earlier = this.#earlier.filter(({ to }) => to >= at);
  }

  /** The spans between two instants in which no ledger recorded. */
  gaps(from: number, at: number): readonly Span[] {
    const runs = [...this.#earlier, { from: this.#startedAt, to: at }].sort((left, right) => left.from - right.from);
    const gaps: Span[] = [];
    let recordedTo = from;
    for (const run of runs) {
      if (run.from > recordedTo) gaps.push({ from: recordedTo, to: run.from });
      recordedTo = Math.max(recordedTo, run.to);
    }
    return gaps;
  }
}
