/**
 * When a process could not trust its view of a shard, from the pulses that reached it. A process with a gap in its view
 * cannot distinguish a taint that was stamped again from one that was removed and added. This file shares no code with
 * the services.
 */
import type { Clock } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";

/** An interval on the world's wall clock; `untilAt` is infinite until it has ended. */
export interface ViewGap {
  readonly fromAt: number;
  untilAt: number;
}

/** The pulses of one shard as one process received them. */
interface Received {
  readonly publisher: string;
  readonly lastAt: number;
  /** Whether the last pulse said that the nodes and pods are synced. */
  readonly isSynced: boolean;
  /** The gap that has not ended. */
  gap: ViewGap | null;
}

/** Pulses are many, so they are searched as text and not decoded. */
const SOURCE = Buffer.from('"source":"');
/** What a pulse says of a watch that is not synced. */
const UNSYNCED = ["nodes", "pods"].map((watch) => Buffer.from(`"${watch}":{"synced":false`));

/** Finds the gaps of every process in every shard. */
export class ViewGaps {
  readonly #clock: Clock;
  readonly #profile: Pick<Profile, "pulsePeriodMs" | "watchBlindMs">;
  /** Called at the beginning of each gap. */
  readonly #found: (shard: number, gap: ViewGap) => void;
  readonly #received = new Map<string, Received>();

  constructor(
    clock: Clock,
    profile: Pick<Profile, "pulsePeriodMs" | "watchBlindMs">,
    found: (shard: number, gap: ViewGap) => void,
  ) {
    this.#clock = clock;
    this.#profile = profile;
    this.#found = found;
  }

  /**
   * A pulse reached a process. A gap begins with the last pulse before the loss. It ends with the second pulse of one
   * publisher that says that all is synced, unless both waited to be read and came together.
   */
  pulsed(shard: number, member: string, payload: Uint8Array): void {
    const nowAt = this.#clock.wallMs();
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    const sourceAt = text.indexOf(SOURCE) + SOURCE.length;
    const publisher = text.toString("latin1", sourceAt, text.indexOf('"', sourceAt));
    const isSynced = !UNSYNCED.some((unsynced) => text.includes(unsynced));
    const before = this.#received.get(`${member} ${shard}`);
    const passedMs = nowAt - (before?.lastAt ?? nowAt);
    const continues = before?.publisher === publisher && before.isSynced && isSynced;
    let gap = before?.gap ?? null;
    if (before !== undefined && gap === null && (!continues || passedMs > this.#pulseWaitMs)) {
      gap = this.#open(shard, before.lastAt);
    } else if (gap !== null && continues && passedMs >= this.#profile.pulsePeriodMs / 2) {
      gap.untilAt = nowAt;
      gap = null;
    }
    this.#received.set(`${member} ${shard}`, { publisher, lastAt: nowAt, isSynced, gap });
  }

  /** A process requested a resync of a shard: it missed messages since the pulse before the last. */
  resynced(shard: number, member: string): void {
    const received = this.#received.get(`${member} ${shard}`);
    if (received === undefined || received.gap !== null) return;
    received.gap = this.#open(shard, received.lastAt - this.#pulseWaitMs);
  }

  get #pulseWaitMs(): number {
    return this.#profile.pulsePeriodMs + this.#profile.watchBlindMs;
  }

  #open(shard: number, fromAt: number): ViewGap {
    const gap = { fromAt, untilAt: Number.POSITIVE_INFINITY };
    this.#found(shard, gap);
    return gap;
  }
}
