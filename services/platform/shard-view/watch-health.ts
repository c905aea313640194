/**
 * Whether one shard's observer is synced, and since when, from its pulses and on the reader's own clock. A process or a
 * NATS server that was stopped delivers old pulses as if they were new: one that waited unread proves nothing.
 */
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { WatchState } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";

/** The fields of a pulse that name its sender and when it was sent. */
export type SentPulse = Pick<Message<"observed.pulse">, "id" | "at">;

/** Identifies one run of the process that published a message: a restart gives another identity. */
export function publisherOf({ id }: Pick<SentPulse, "id">): string {
  // The id without type, shard and sequence: each reader of 64 shards needs it with every pulse.
  return id.slice(0, id.lastIndexOf(":", id.lastIndexOf(":") - 1));
}

/** The pulse received last; `at` is when it was sent, on its publisher's wall clock. */
interface LastPulse {
  readonly publisher: string;
  readonly at: number;
}

/** Measures the pulses that one reader receives. */
export class PulseLateness {
  readonly #profile: Pick<Profile, "pulsePeriodMs" | "watchBlindMs">;
  readonly #beganMs: number;
  #receivedMs = Number.NEGATIVE_INFINITY;
  #last: LastPulse | null = null;
  /** How long the last pulse had waited unread; 0 when that was not long enough to matter. */
  #lateMs = 0;

  /** `beganMs` is when the reader subscribed, on its monotonic clock. */
  constructor(profile: Pick<Profile, "pulsePeriodMs" | "watchBlindMs">, beganMs: number) {
    this.#profile = profile;
    this.#beganMs = beganMs;
  }

  /** When the last pulse was read, on the monotonic clock; minus infinity before the first. */
  get receivedMs(): number {
    return this.#receivedMs;
  }

  /** Whether the last pulse proves nothing, because it waited. */
  get isLate(): boolean {
    return this.#lateMs > 0;
  }

  /** Handles a pulse and returns whether it is late. */
  onPulse(pulse: SentPulse, nowMs: number): boolean {
    const publisher = publisherOf(pulse);
    this.#lateMs = this.#latenessOf(pulse, publisher, nowMs);
    this.#receivedMs = nowMs;
    this.#last = { publisher, at: pulse.at };
    return this.isLate;
  }

  /**
   * How long a pulse waited: how much further our clock moved since the last pulse than its publisher's. Wrong clocks
   * therefore do no harm. The first may have waited since the reader subscribed. Pulses become late after more than
   * watchBlindMs. That ends with a pulse that has caught up, or with two sent as far apart as they arrive: then the
   * publisher was suspended or its clock differs from the last publisher's, and we were not suspended. Example: the
   * last pulse was sent at 12:00:00 by its publisher's clock. The next one is sent at 12:00:01 and read 61 s after the
   * last, so it waited 60 s.
   */
  #latenessOf({ at }: SentPulse, publisher: string, nowMs: number): number {
    const { pulsePeriodMs, watchBlindMs } = this.#profile;
    if (this.#last === null) return nowMs - this.#beganMs > watchBlindMs ? nowMs - this.#beganMs : 0;
    const passedMs = nowMs - this.#receivedMs;
    const isLate = this.#lateMs > 0;
    const isSame = this.#last.publisher === publisher;
    const sentLaterMs = at - this.#last.at;
    // Another observer's pulse shows only that taking over may have lasted so long. If it was sent before the last one,
    // it waited, or its publisher was suspended and does not know that yet.
    const otherApartMs = isLate ? 0 : watchBlindMs + Math.min(0, sentLaterMs);
    const sentApartMs = isSame ? Math.max(0, sentLaterMs) : otherApartMs;
    const lateMs = this.#lateMs + passedMs - sentApartMs;
    if (!isLate) return lateMs > watchBlindMs ? lateMs : 0;
    const keepsInterval = passedMs >= pulsePeriodMs / 2 && Math.abs(passedMs - sentApartMs) <= passedMs / 2;
    return keepsInterval || lateMs <= pulsePeriodMs ? 0 : lateMs;
  }
}

/** The fields of a pulse message that say how well its observer is synced. */
export type PulseMessage = Pick<Message<"observed.pulse">, "id" | "source" | "at" | "cause" | "body">;

/**
 * Translates an instant of another process to the reader's monotonic clock, never into the future. Only the distance
 * from the instant of sending counts, so wrong clocks do no harm.
 */
export function translated(instantAt: number, sentAt: number, nowMs: number): number {
  return nowMs - Math.max(0, sentAt - instantAt);
}

/** When an unsynced watch was last complete; infinite when it is synced or that is unknown. */
function lostMs({ synced, lostAt }: WatchState, sentAt: number, nowMs: number): number {
  return synced || lostAt === undefined ? Number.POSITIVE_INFINITY : translated(lostAt, sentAt, nowMs);
}

/** The settings of watch health. */
export type WatchHealthProfile = Pick<Profile, "pulsePeriodMs" | "pulseTimeoutMs" | "watchBlindMs">;

/**
 * How long a reader may be without a pulse before it is blind, in milliseconds. A pulse overdue by watchBlindMs may
 * mean that this process was suspended and has unread messages, so a longer pulseTimeoutMs does not count.
 */
export function pulseWaitMs({ pulsePeriodMs, pulseTimeoutMs, watchBlindMs }: WatchHealthProfile): number {
  return Math.min(pulseTimeoutMs, pulsePeriodMs + watchBlindMs);
}

/** The health of one shard's watches. */
export class WatchHealth {
  readonly #needs: readonly WatchName[];
  readonly #profile: WatchHealthProfile;
  #publisher: string | null = null;
  readonly #lateness: PulseLateness;
  #lateAt = Number.NEGATIVE_INFINITY;
  /**
   * Until when every needed watch is known to have been synced. A pulse may report a loss late, which moves it back.
   */
  #trustedAt = Number.NEGATIVE_INFINITY;
  #unsynced: WatchName | null = null;
  #since: number | null = null;
  /** The start that the publisher first published for its current period. */
  #publishedSince = Number.NEGATIVE_INFINITY;
  /** The same start on the publisher's wall clock. */
  #publishedSinceAt = Number.NEGATIVE_INFINITY;

  /** `beganMs` is when the reader subscribed, on its monotonic clock. */
  constructor(needs: readonly WatchName[], profile: WatchHealthProfile, beganMs: number) {
    this.#needs = needs;
    this.#profile = profile;
    this.#lateness = new PulseLateness(profile, beganMs);
  }

  /** Since when the watches are synced, on the reader's monotonic clock: silence counts from here on. Null before. */
  get since(): number | null {
    return this.#since === null ? null : Math.max(this.#since, this.#lateAt);
  }

  /** Why the view is not current; null when it is. */
  blindness(nowMs: number): string | null {
    if (nowMs - this.#lateness.receivedMs >= pulseWaitMs(this.#profile)) return "no pulse from the observer";
    if (this.#lateness.isLate) return "the observer's pulses come late";
    return this.#unsynced === null ? null : `the watch of ${this.#unsynced} is not synced`;
  }

  /**
   * Handles a pulse. A late one proves nothing: this process or a NATS server was stopped, and newer messages are
   * unread behind it. A new synced period then begins with the first pulse that is not late.
   */
  onPulse(message: PulseMessage, nowMs: number): void {
    if (this.#lateness.onPulse(message, nowMs)) this.#lateAt = nowMs;
    else this.#applySync(message, publisherOf(message), nowMs);
  }

  /**
   * Applies the state of the watches. An observer moves the start of its synced period only after more than
   * watchBlindMs unsynced; smaller moves are network jitter. A new observer that takes over within watchBlindMs
   * continues the period. A reader that was suspended knows only by the observer's clock how long the observer was
   * unsynced.
   */
  #applySync(message: PulseMessage, publisher: string, nowMs: number): void {
    const isSame = publisher === this.#publisher;
    const { watches } = message.body;
    this.#unsynced = this.#needs.find((name) => !watches[name].synced || watches[name].since === null) ?? null;
    if (this.#unsynced !== null) {
      const lostAts = this.#needs.map((name) => lostMs(watches[name], message.at, nowMs));
      this.#trustedAt = Math.min(this.#trustedAt, ...lostAts);
      return;
    }
    let publishedSinceAt = Number.NEGATIVE_INFINITY;
    let publishedSince = Number.NEGATIVE_INFINITY;
    for (const name of this.#needs) {
      const syncedAt = watches[name].since ?? 0;
      publishedSinceAt = Math.max(publishedSinceAt, syncedAt);
      publishedSince = Math.max(publishedSince, translated(syncedAt, message.at, nowMs));
    }
    const unseenFrom = isSame ? this.#publishedSince : this.#trustedAt;
    const movedMs = Math.max(publishedSince - unseenFrom, isSame ? publishedSinceAt - this.#publishedSinceAt : 0);
    const isContinued = this.#since !== null && movedMs <= this.#profile.watchBlindMs;
    // A start that moved to an instant already trusted: the publisher was suspended. Unless late pulses showed when,
    // that may have lasted until now.
    const hasLostTime = isSame && publishedSince < this.#trustedAt && this.#lateAt < this.#trustedAt;
    if (!isContinued) this.#since = hasLostTime ? nowMs : publishedSince;
    if (!isSame || !isContinued) {
      this.#publishedSince = publishedSince;
      this.#publishedSinceAt = publishedSinceAt;
    }
    this.#publisher = publisher;
    this.#trustedAt = nowMs;
  }
}
