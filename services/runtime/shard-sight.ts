/** Whether the observer behind a shard can see, and since when, on the reader's own clock. It holds no node. */
import { positionOf } from "../../protocols/frame.ts";
import type { Message } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { WatchName } from "../../protocols/status.ts";

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

/** What the pulses of one shard say about sight. */
export class ShardSight {
  readonly #needs: readonly WatchName[];
  readonly #profile: Pick<Profile, "pulseTimeoutMs" | "watchBlindMs">;
  /** Who told the present sight. */
  #publisher: string | null = null;
  #heardAt = Number.NEGATIVE_INFINITY;
  /** When a pulse last told that every needed watch is synced. */
  #trustedAt = Number.NEGATIVE_INFINITY;
  #unsynced: WatchName | null = null;
  #since: number | null = null;
  /** When it began, as its publisher told first. */
  #toldSince = Number.NEGATIVE_INFINITY;

  constructor(needs: readonly WatchName[], profile: Pick<Profile, "pulseTimeoutMs" | "watchBlindMs">) {
    this.#needs = needs;
    this.#profile = profile;
  }

  /**
   * Start of the present sight on the reader's monotonic clock: silence is counted from here at the earliest. Null
   * before any.
   */
  get since(): number | null {
    return this.#since;
  }

  /** Why nothing can be seen at this moment; null when everything needed can. */
  blindness(nowMs: number): string | null {
    if (nowMs - this.#heardAt >= this.#profile.pulseTimeoutMs) return "no pulse from the observer";
    return this.#unsynced === null ? null : `the watch of ${this.#unsynced} is not synced`;
  }

  /**
   * Takes a pulse. An observer moves the start of its sight only after it was blind for longer than watchBlindMs;
   * smaller moves are the network's jitter. A new observer that took over within watchBlindMs continues the old sight.
   */
  hear(message: PulseMessage, nowMs: number): void {
    const publisher = publisherOf(message);
    const isSame = publisher === this.#publisher;
    this.#heardAt = nowMs;
    const { watches } = message.body;
    this.#unsynced = this.#needs.find((name) => !watches[name].synced || watches[name].since === null) ?? null;
    if (this.#unsynced !== null) return;
    const told = Math.max(...this.#needs.map((name) => translated(watches[name].since ?? 0, message.at, nowMs)));
    // What the same publisher said before, or else the last time at which anyone could see.
    const unseenFrom = isSame ? this.#toldSince : this.#trustedAt;
    const isContinued = this.#since !== null && told - unseenFrom <= this.#profile.watchBlindMs;
    if (!isContinued) this.#since = told;
    if (!isSame || !isContinued) this.#toldSince = told;
    this.#publisher = publisher;
    this.#trustedAt = nowMs;
  }
}
