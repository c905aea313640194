/**
 * How long an observer's pulses waited before they were read. A process or a NATS server that was stopped delivers old
 * pulses as if they were new; what they say of the watches is not so any more.
 */
import type { Message } from "../../../protocols/messages.ts";
import type { Profile } from "../../../protocols/profile.ts";

/** The fields of a pulse that tell who sent it and when. */
export type SentPulse = Pick<Message<"observed.pulse">, "id" | "at">;

/** Identifies one run of the process that published a message: a restart gives another identity. */
export function publisherOf({ id }: Pick<SentPulse, "id">): string {
  // The id without type, shard and sequence: each reader of 64 shards needs it once a second.
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

  /** Takes a pulse and returns whether it is late. */
  take(pulse: SentPulse, nowMs: number): boolean {
    const publisher = publisherOf(pulse);
    this.#lateMs = this.#latenessOf(pulse, publisher, nowMs);
    this.#receivedMs = nowMs;
    this.#last = { publisher, at: pulse.at };
    return this.isLate;
  }

  /**
   * How long a pulse waited: how much further our clock moved since the last pulse than its publisher's, so wrong
   * clocks do no harm. The first may have waited since the reader subscribed. Pulses become late after more than
   * watchBlindMs. That ends with a pulse that has caught up, or with two sent as far apart as they arrive: then the
   * publisher's clock stood still or differs from the last publisher's, and ours did not stand still.
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
