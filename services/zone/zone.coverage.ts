/**
 * Which zones this process sees well enough to decide about. A zone needs every shard in which it has a node; of the
 * other shards a few may be in doubt, so that one shard that cannot be read stops no zone but those it has nodes of
 * (docs/decisions: a zone needs the shards of its own nodes).
 */
import type { Metrics } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { ShardView } from "../platform/shard-view/shard-view.ts";
import type { Damage } from "./zone.policy.ts";
import type { ZoneRoster } from "./zone.roster.ts";

/**
 * How many of the 64 shards may be in doubt while anything is granted: on average they hold a sixteenth of the nodes,
 * which is what a zone's count may then lack.
 */
const SUSPECT_SHARDS_MAX = 4;

/** The gauge that says how many shards are in doubt; `/readyz` shows it too. */
export const SUSPECT_SHARDS_GAUGE = "vigil_zone_suspect_shards";

/** One shard as this process follows it. */
interface ZoneFeed {
  readonly view: Pick<ShardView, "blindness">;
}
/** What else it needs of its process. */
interface ZoneCoverageContext {
  readonly profile: Pick<Profile, "watchBlindMs">;
  readonly metrics: Pick<Metrics, "gauge">;
}
type Roster = Pick<ZoneRoster, "unjudged" | "unjudgedIn" | "zone">;

/** What this process sees of shards and zones. Instants are on the monotonic clock. */
export class ZoneCoverage {
  readonly #feeds: readonly ZoneFeed[];
  readonly #roster: Roster;
  readonly #profile: Pick<Profile, "watchBlindMs">;
  readonly #gauge: ReturnType<Metrics["gauge"]>;
  /** The shards that have been whole at least once. */
  readonly #known = new Set<number>();
  #suspect: ReadonlySet<number> = new Set();
  /** Since when no more than SUSPECT_SHARDS_MAX shards have never been whole; null before. */
  #mostKnownSince: number | null = null;
  #suffices = false;

  constructor(feeds: readonly ZoneFeed[], roster: Roster, { profile, metrics }: ZoneCoverageContext) {
    this.#feeds = feeds;
    this.#roster = roster;
    this.#profile = profile;
    this.#gauge = metrics.gauge({
      name: SUSPECT_SHARDS_GAUGE,
      help: "Shards that the zone service does not hold whole; no zone with a node in one of them is decided about.",
    });
  }

  /** Whether the shards suffice to decide about any zone. */
  get suffices(): boolean {
    return this.#suffices;
  }

  /** Equal at two instants when the same shards were in doubt, with the same consequence. */
  get state(): string {
    return `${this.#suffices} ${[...this.#suspect].join(" ")}`;
  }

  /** Brings everything here up to date. */
  update(nowMs: number): void {
    const suspect = new Set<number>();
    for (const [shard, { view }] of this.#feeds.entries()) {
      if (view.blindness(nowMs) === null) this.#known.add(shard);
      else suspect.add(shard);
    }
    this.#suspect = suspect;
    this.#gauge.set(suspect.size);
    if (this.#feeds.length - this.#known.size <= SUSPECT_SHARDS_MAX) this.#mostKnownSince ??= nowMs;
    this.#suffices = suspect.size <= SUSPECT_SHARDS_MAX && this.#isWorthDeciding(nowMs);
  }

  /** Whether a zone is seen whole: each of its nodes is judged, and lies in a shard that is. */
  covers(zone: string): boolean {
    if (this.#roster.unjudgedIn(zone) > 0) return false;
    if (this.#suspect.size === 0) return true;
    const shards = this.#roster.zone(zone)?.shards;
    return shards !== undefined && ![...this.#suspect].some((shard) => shards.has(shard));
  }

  /** What is certain of a zone that is not seen whole: one node that is ready shows that it is not wholly down. */
  certainDamage(zone: string): Damage | null {
    for (const [shard, { ready }] of this.#roster.zone(zone)?.shards ?? []) {
      if (ready > 0 && !this.#suspect.has(shard)) return "normal";
    }
    return null;
  }

  /** Whether there may be nodes of which nothing is known, so that not every zone is known to be down. */
  get isPartial(): boolean {
    return this.#suspect.size > 0 || this.#roster.unjudged > 0;
  }

  /** At a start shards become whole one by one: the last are waited for, but not for ever. */
  #isWorthDeciding(nowMs: number): boolean {
    if (this.#known.size === this.#feeds.length) return true;
    return this.#mostKnownSince !== null && nowMs - this.#mostKnownSince >= this.#profile.watchBlindMs;
  }
}
