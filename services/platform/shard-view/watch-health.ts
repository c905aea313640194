/** Whether the observer behind a shard can see, and since when, on the reader's own clock. It holds no node. */
import { positionOf } from "../../../protocols/frame.ts";
import type { WatchName } from "../../../protocols/ledger-reader.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { WatchState } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";

/** The part of a pulse message that tells about sight. */
export type PulseMessage = Pick<Message<"observed.pulse">, "id" | "source" | "at" | "cause" | "body">;

/** Who published a message, one start of a process told from the next. */
export function publisherOf(message: Pick<PulseMessage, "id" | "source">): string {
  return `${message.source}:${positionOf(message.id)?.epoch ?? ""}`;
}

/**
 * An instant of another process on the reader's monotonic clock: only its distance from the moment of sending counts,
 * so neither clock's setting matters. Never in the future.
 */
export function translated(instantAt: number, sentAt: number, nowMs: number): number {
  return nowMs - Math.max(0, sentAt - instantAt);
}

/** When a watch was last whole that is not; in the future while nothing is known of that. */
function lostMs({ synced, lostAt }: WatchState, sentAt: number, nowMs: number): number {
  return synced || lostAt === undefined ? Number.POSITIVE_INFINITY : translated(lostAt, sentAt, nowMs);
}

/** The settings that sight lives by. */
export type WatchHealthProfile = Pick<Profile, "pulsePeriodMs" | "pulseTimeoutMs" | "watchBlindMs">;

/**
 * How long a reader may be without a pulse before it is blind. A pulse that is overdue by watchBlindMs may mean that
 * this process has just stood still and has read nothing yet, so a longer pulseTimeoutMs does not count.
 */
function pulseWaitMs({ pulsePeriodMs, pulseTimeoutMs, watchBlindMs }: WatchHealthProfile): number {
  return Math.min(pulseTimeoutMs, pulsePeriodMs + watchBlindMs);
}

/** The last pulse that came: whose it was, and when it was sent on its publisher's wall clock. */
interface LastPulse {
  readonly publisher: string;
  readonly at: number;
}

/** What the pulses of one shard say about sight. */
export class WatchHealth {
  readonly #needs: readonly WatchName[];
  readonly #profile: WatchHealthProfile;
  readonly #beganMs: number;
  /** Who told the present sight. */
  #publisher: string | null = null;
  #receivedMs = Number.NEGATIVE_INFINITY;
  #last: LastPulse | null = null;
  /** How long the last pulse had waited before it was read; 0 when that was not long enough to matter. */
  #lateMs = 0;
  /** When the last late pulse was read: what came before it was not seen in time. */
  #lateAt = Number.NEGATIVE_INFINITY;
  /** When a pulse last told that every needed watch is synced, or earlier where one was found out late to be lost. */
  #trustedAt = Number.NEGATIVE_INFINITY;
  #unsynced: WatchName | null = null;
  #since: number | null = null;
  /** When it began, as its publisher told first. */
  #publishedSince = Number.NEGATIVE_INFINITY;

  /** `beganMs` is when the reader began to listen, on its monotonic clock. */
  constructor(needs: readonly WatchName[], profile: WatchHealthProfile, beganMs: number) {
    this.#needs = needs;
    this.#profile = profile;
    this.#beganMs = beganMs;
  }

  /**
   * Start of the present sight on the reader's monotonic clock: silence is counted from here at the earliest. Null
   * before any.
   */
  get since(): number | null {
    return this.#since === null ? null : Math.max(this.#since, this.#lateAt);
  }

  /** Why nothing can be seen at this moment; null when everything needed can. */
  blindness(nowMs: number): string | null {
    if (nowMs - this.#receivedMs >= pulseWaitMs(this.#profile)) return "no pulse from the observer";
    if (this.#lateMs > 0) return "the observer's pulses come late";
    return this.#unsynced === null ? null : `the watch of ${this.#unsynced} is not synced`;
  }

  /**
   * Takes a pulse. A late one shows nothing: what its observer has seen since lies unread behind it, because this
   * process or a server between them stood still. Sight then begins again with the first pulse that is not late.
   */
  take(message: PulseMessage, nowMs: number): void {
    this.#lateMs = this.#latenessOf(message, nowMs);
    this.#receivedMs = nowMs;
    this.#last = { publisher: publisherOf(message), at: message.at };
    if (this.#lateMs > 0) this.#lateAt = nowMs;
    else this.#takeSync(message, nowMs);
  }

  /**
   * How long a pulse has waited: by how much less its publisher's clock moved on since the last pulse than ours, so
   * that neither clock's setting matters. The first may have waited for as long as its reader has listened. Lateness
   * begins with more than watchBlindMs, and ends with a pulse that has caught up, or that comes at the publisher's own
   * pace: then the publisher's clock stood still rather than ours.
   */
  #latenessOf(message: PulseMessage, nowMs: number): number {
    const { pulsePeriodMs, watchBlindMs } = this.#profile;
    if (this.#last === null) return nowMs - this.#beganMs > watchBlindMs ? nowMs - this.#beganMs : 0;
    const passedMs = nowMs - this.#receivedMs;
    const isLate = this.#lateMs > 0;
    const isSame = this.#last.publisher === publisherOf(message);
    // Of another observer's pulse nothing is known but that it may have taken so long to take over.
    const saidMs = isSame ? Math.max(0, message.at - this.#last.at) : isLate ? 0 : watchBlindMs;
    const lateMs = this.#lateMs + passedMs - saidMs;
    if (!isLate) return lateMs > watchBlindMs ? lateMs : 0;
    const isAtPace = passedMs >= pulsePeriodMs / 2 && Math.abs(passedMs - saidMs) <= passedMs / 2;
    return isAtPace || lateMs <= pulsePeriodMs ? 0 : lateMs;
  }

  /**
   * Takes what a pulse says about the watches. An observer moves the start of its sight only after it was blind for
   * longer than watchBlindMs; smaller moves are the network's jitter. A new observer that took over within watchBlindMs
   * continues the old sight.
   */
  #takeSync(message: PulseMessage, nowMs: number): void {
    const publisher = publisherOf(message);
    const isSame = publisher === this.#publisher;
    const { watches } = message.body;
    this.#unsynced = this.#needs.find((name) => !watches[name].synced || watches[name].since === null) ?? null;
    if (this.#unsynced !== null) {
      this.#trustedAt = Math.min(
        this.#trustedAt,
        ...this.#needs.map((name) => lostMs(watches[name], message.at, nowMs)),
      );
      return;
    }
    const publishedSince = Math.max(
      ...this.#needs.map((name) => translated(watches[name].since ?? 0, message.at, nowMs)),
    );
    // What the same publisher said before, or else the last time at which anyone could see.
    const unseenFrom = isSame ? this.#publishedSince : this.#trustedAt;
    const isContinued = this.#since !== null && publishedSince - unseenFrom <= this.#profile.watchBlindMs;
    // A start that moved to an instant at which this publisher could see: its clock has stood still since. Unless late
    // pulses showed when, that may have lasted until now.
    const hasLostTime = isSame && publishedSince < this.#trustedAt && this.#lateAt < this.#trustedAt;
    if (!isContinued) this.#since = hasLostTime ? nowMs : publishedSince;
    if (!isSame || !isContinued) this.#publishedSince = publishedSince;
    this.#publisher = publisher;
    this.#trustedAt = nowMs;
  }
}
