/** Whether one shard's observer is synced, and since when, from its pulses and on the reader's own clock. */
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { WatchState } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { PulseLateness, publisherOf } from "./pulse-lateness.ts";

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
 * mean that this process stood still and has unread messages, so a longer pulseTimeoutMs does not count.
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
   * Takes a pulse. A late one proves nothing: this process or a NATS server was stopped, and newer messages are unread
   * behind it. A new synced period then begins with the first pulse that is not late.
   */
  take(message: PulseMessage, nowMs: number): void {
    if (this.#lateness.take(message, nowMs)) this.#lateAt = nowMs;
    else this.#takeSync(message, publisherOf(message), nowMs);
  }

  /**
   * Takes the state of the watches. An observer moves the start of its synced period only after more than watchBlindMs
   * unsynced; smaller moves are network jitter. A new observer that takes over within watchBlindMs continues the
   * period. A reader whose clock stood still sees only by the observer's clock how long the observer was unsynced.
   */
  #takeSync(message: PulseMessage, publisher: string, nowMs: number): void {
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
    // A start that moved to an instant already trusted: the publisher's clock stood still. Unless late pulses showed
    // when, that may have lasted until now.
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
