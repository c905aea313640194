/**
 * One step of a failure, such as a taint or a deletion, with its instants on both sides. The API often shows a step
 * without its author. Then the outcome of Vigil's own request decides which side took it, in whichever order the two
 * arrive; until then the author is not known. Example: the API shows a taint in version 812. Vigil's write then reports
 * version 812, so the taint is Vigil's. A taint that version 790 showed already is not that write.
 */
import type { StepRecord } from "../../../protocols/comparison-record.ts";
import type { ComparedInstant, ComparedStep } from "../../../protocols/ledger-reader.ts";
import { isOlderVersion } from "../../structures/resource-version.ts";

type Instant = NonNullable<ComparedInstant>;

/** What the API shows: when, and in which version of its object; null where no version shows it, such as a deletion. */
interface Shown {
  readonly instant: Instant;
  readonly version: string | null;
}

/** The author of what the API shows: not known while it may be Vigil. */
export type Author = "vigil" | "others" | "unknown";

/** A write of Vigil's, or in shadow mode what it would have written. */
export interface OwnStep {
  readonly at: number;
  readonly id: string;
  readonly isWritten: boolean;
  /** The version of the object after the write; null for none. */
  readonly version: string | null;
}

const AUTHOR_UNKNOWN = "not known: nothing shows who wrote it";

/** A step of both sides, while it is recorded. */
export class Step {
  #vigil: ComparedInstant;
  #others: ComparedInstant;
  /** The version that shows what the others did; null for unknown. */
  #othersVersion: string | null = null;
  /** What the API shows while its author is not known. */
  #undecided: Shown | null = null;
  /** Whether Vigil's write reached the API, so that what the API shows from now on is Vigil's. */
  #isWritten: boolean;
  /** Whether it began before this was recorded. It is no difference then. */
  #isOld = false;
  /** Whether it has changed since `collectChange` was called last. */
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

  /** Whether neither side has taken it. */
  get isEmpty(): boolean {
    return this.#isOld || (this.#vigil === null && this.#others === null && this.#undecided === null);
  }

  /** Since when the API shows it; null when it does not. */
  get shownAt(): number | null {
    const shown = this.#others ?? this.#undecided?.instant ?? null;
    if (shown !== null) return shown.at;
    return this.#isWritten ? (this.#vigil?.at ?? null) : null;
  }

  /**
   * Records what Vigil wrote, or in shadow mode would have written; only the first time counts. What the API has shown
   * meanwhile is this write, unless an older version showed it. Returns the part that turns out to be the others'.
   */
  byVigil({ at, id, isWritten, version }: OwnStep): ComparedInstant {
    if (this.#vigil === null || this.#vigil.isPlanned === true) this.#setVigil({ at, id });
    if (!isWritten) return this.settled();
    this.#isWritten = true;
    this.#isOld = false;
    // An older version may show an earlier write of Vigil's, whose outcome was lost.
    if (this.#undecided !== null && !isOlder(this.#undecided.version, version)) this.#undecided = null;
    if (this.#othersVersion === null || version === null || isOlder(this.#othersVersion, version)) return null;
    this.#others = null;
    this.#isChanged = true;
    return null;
  }

  /** Records that a request of Vigil's ended without a write. Returns what turns out to be the others'. */
  settled(): ComparedInstant {
    const undecided = this.#undecided;
    this.#undecided = null;
    if (undecided === null) return null;
    this.#setOthers(undecided);
    return undecided.instant;
  }

  /** Records when Vigil would have done it, because the others were earlier. */
  planned(at: number, id: string): void {
    if (this.#vigil === null || this.#vigil.isPlanned === true) this.#setVigil({ at, id, isPlanned: true });
  }

  /** Records what the API shows, unless it was shown before. Returns whether it is a new step of the others. */
  shown(instant: Instant, version: string | null = null, author: Author = "others"): boolean {
    if (this.#others !== null || this.#undecided !== null || this.#isWritten) return false;
    if (author === "vigil") this.byVigil({ ...instant, isWritten: true, version });
    else if (author === "unknown") this.#undecided = { instant, version };
    else this.#setOthers({ instant, version });
    return author === "others";
  }

  /** Records what the API showed already when recording began: its author and time are not known. */
  shownBefore(instant: Instant, version: string, author: Author): void {
    if (this.#vigil === null && this.#others === null) this.#isOld = true;
    this.shown(instant, version, author);
  }

  /** Adds what was recorded of the same step later. */
  continueWith(later: Step): void {
    if (later.#vigil !== null) {
      const { at, id, isPlanned } = later.#vigil;
      if (isPlanned === true) this.planned(at, id);
      else this.byVigil({ at, id, isWritten: later.#isWritten, version: null });
    }
    if (later.#others !== null) this.shown(later.#others, later.#othersVersion);
    else if (later.#undecided !== null) this.shown(later.#undecided.instant, later.#undecided.version, "unknown");
  }

  /** Whether it has changed since the last call, so that it has to be stored. */
  collectChange(): boolean {
    const isChanged = this.#isChanged && !this.#isOld;
    this.#isChanged = false;
    return isChanged;
  }

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
    if (vigil === null && others === null) {
      return { vigil, others, leadMs: null, why: this.#undecided === null || this.#isOld ? null : AUTHOR_UNKNOWN };
    }
    return { vigil, others, leadMs: null, why: why(vigil === null ? "vigil" : "others") };
  }

  #setOthers({ instant, version }: Shown): void {
    this.#others = instant;
    this.#othersVersion = version;
    this.#isChanged = true;
  }

  #setVigil(instant: Instant): void {
    const { at, id } = this.#vigil ?? {};
    this.#vigil = instant;
    this.#isChanged ||= at !== instant.at || id !== instant.id;
  }
}

function isOlder(version: string | null, than: string | null): boolean {
  return version !== null && than !== null && isOlderVersion(version, than);
}
