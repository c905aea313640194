/**
 * The times in which no observer showed the cluster: between two pulses that say that nodes and leases are synced. What
 * Vigil knows right after such a time is of its beginning, until the first changes since have passed through all
 * services. Nor can it know that nodes were heard meanwhile, if their leases show later renewals only. Example: an
 * observer is suspended from second 100 to second 700 and the leases of all living nodes were renewed at 690.
 */
import type { Clock } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { Span } from "./heard.ts";

const UNSYNCED = ["nodes", "leases"].map((watch) => Buffer.from(`"${watch}":{"synced":false`));
/** A next pulse that comes later than after so many periods was not the next one. */
const PERIODS_MAX = 1.5;

/** Follows the pulses of one shard; instants are on the wall clock of the world. */
export class UnobservedTimes {
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #leastMs: number;
  readonly #spans: Span[] = [];
  #syncedAt: number;

  constructor(clock: Pick<Clock, "wallMs">, { pulsePeriodMs }: Pick<Profile, "pulsePeriodMs">) {
    this.#clock = clock;
    this.#leastMs = pulsePeriodMs * PERIODS_MAX;
    this.#syncedAt = clock.wallMs();
  }

  /** An observer has sent a pulse. */
  pulsed(payload: Uint8Array): void {
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    if (UNSYNCED.some((unsynced) => text.includes(unsynced))) return;
    const nowAt = this.#clock.wallMs();
    if (nowAt - this.#syncedAt > this.#leastMs) this.#spans.push([this.#syncedAt, nowAt]);
    this.#syncedAt = nowAt;
  }

  /** How old a view is of which nothing newer has passed through all services, which takes `lagMs`; 0 for none. */
  ageMs(lagMs: number): number {
    const nowAt = this.#clock.wallMs();
    const [fromAt, toAt] = this.#spans.at(-1) ?? [nowAt, Number.NEGATIVE_INFINITY];
    return nowAt - toAt < lagMs ? nowAt - fromAt : 0;
  }

  /** Whether part of a time is among them. */
  overlaps([fromAt, toAt]: Span): boolean {
    return this.#spans.some((span) => span[0] < toAt && fromAt < span[1]);
  }
}
