/** One step of a failure, such as a taint or a deletion, with its instants on both sides. */
import type { StepRecord } from "../../../protocols/comparison-record.ts";
import type { ComparedInstant, ComparedStep } from "../../../protocols/ledger-reader.ts";

/** A step of both sides, while it is recorded. */
export class Step {
  #vigil: ComparedInstant;
  #others: ComparedInstant;
  /** Whether Vigil's write reached the API, so that what the API shows from now on is Vigil's. */
  #isWritten: boolean;
  /** Whether it is as old as a failure that nobody recorded. It is no difference then. */
  #isOld = false;
  /** Whether it has changed since `takeChange` was called last. */
  #isChanged = false;

  /** A new step, or one as it was stored. */
  constructor({ vigil, others, isWritten = false }: StepRecord = { vigil: null, others: null }) {
    this.#vigil = vigil;
    this.#others = others;
    this.#isWritten = isWritten;
  }

  /** Whether Vigil's write of it has reached the API. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Whether no side has taken it. */
  get isEmpty(): boolean {
    return this.#isOld || (this.#vigil === null && this.#others === null);
  }

  /** Since when the API shows it; null when it does not. */
  get shownAt(): number | null {
    if (this.#others !== null) return this.#others.at;
    return this.#isWritten ? (this.#vigil?.at ?? null) : null;
  }

  /** Records what Vigil wrote, or in shadow mode would have written. Only the first time counts. */
  byVigil(at: number, id: string, isWritten: boolean): void {
    if (this.#vigil === null || this.#vigil.isPlanned === true) this.#setVigil({ at, id });
    this.#isWritten ||= isWritten;
  }

  /** Records when Vigil was going to do it, because the others were earlier. */
  planned(at: number, id: string): void {
    if (this.#vigil === null || this.#vigil.isPlanned === true) this.#setVigil({ at, id, isPlanned: true });
  }

  /** Records what the API shows, unless Vigil wrote it. Returns whether that is new. */
  shown(instant: NonNullable<ComparedInstant>): boolean {
    if (this.#others !== null || this.#isWritten) return false;
    this.#others = instant;
    this.#isChanged = true;
    return true;
  }

  /** Records what the API showed already when recording began: who did it when is not known. */
  shownBefore(instant: NonNullable<ComparedInstant>): void {
    if (this.#vigil === null && this.#others === null) this.#isOld = true;
    this.shown(instant);
  }

  /** Adds what was recorded of the same step later. */
  continueWith(later: Step): void {
    if (later.#vigil !== null) {
      if (later.#vigil.isPlanned === true) this.planned(later.#vigil.at, later.#vigil.id);
      else this.byVigil(later.#vigil.at, later.#vigil.id, later.#isWritten);
    }
    if (later.#others !== null) this.shown(later.#others);
  }

  /** Whether it has changed since the last call, so that it has to be stored. */
  takeChange(): boolean {
    const isChanged = this.#isChanged && !this.#isOld;
    this.#isChanged = false;
    return isChanged;
  }

  /** The step as it is stored. */
  record(): StepRecord {
    return { vigil: this.#vigil, others: this.#others, ...(this.#isWritten ? { isWritten: true } : {}) };
  }

  /** The step for a report; `why` explains one side alone. */
  report(why: (missing: "vigil" | "others") => string): ComparedStep {
    const [vigil, others] = this.#isOld ? [null, null] : [this.#vigil, this.#others];
    const isLate = others?.isLatest === true;
    if (vigil !== null && others !== null) {
      return { vigil, others, leadMs: isLate ? null : others.at - vigil.at, why: null };
    }
    if (vigil === null && others === null) return { vigil, others, leadMs: null, why: null };
    return { vigil, others, leadMs: null, why: why(vigil === null ? "vigil" : "others") };
  }

  #setVigil(instant: NonNullable<ComparedInstant>): void {
    const { at, id } = this.#vigil ?? {};
    this.#vigil = instant;
    this.#isChanged ||= at !== instant.at || id !== instant.id;
  }
}
