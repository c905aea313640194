/**
 * Which zones this process sees well enough to decide on. A zone needs every shard in which it has a node. A few other
 * shards may be suspect, so one unreadable shard stops only the zones with nodes in it (decision 9).
 */
import type { Metrics } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { partsOfDomain } from "../domain/zone-key.ts";
import type { ShardView } from "../platform/shard-view/shard-view.ts";
import type { Damage } from "./zone.policy.ts";
import type { ZoneRoster } from "./zone.roster.ts";

/**
 * How many of the 64 shards may be suspect while any zone grants. On average they hold a sixteenth of the nodes, which
 * a zone's count may then lack.
 */
const SUSPECT_SHARDS_MAX = 4;

/** The gauge of suspect shards, which `/readyz` shows too. */
export const SUSPECT_SHARDS_GAUGE = "vigil_zone_suspect_shards";

type Feeds = readonly { readonly view: Pick<ShardView, "blindness"> }[];
type Roster = Pick<ZoneRoster, "unjudged" | "unjudgedIn" | "zone">;
interface ZoneCoverageContext {
  readonly profile: Pick<Profile, "watchBlindMs">;
  readonly metrics: Pick<Metrics, "gauge">;
}

/** The shards and zones that this process sees. Instants are on the monotonic clock. */
export class ZoneCoverage {
  readonly #feeds: Feeds;
  readonly #roster: Roster;
  readonly #watchBlindMs: number;
  readonly #gauge: ReturnType<Metrics["gauge"]>;
  /** The shards that have been synced at least once. */
  readonly #known = new Set<number>();
  #suspect: ReadonlySet<number> = new Set();
  /** Since when at most SUSPECT_SHARDS_MAX shards have never been synced; null before. */
  #mostKnownSince: number | null = null;
  #suffices = false;

  constructor(feeds: Feeds, roster: Roster, { profile, metrics }: ZoneCoverageContext) {
    this.#feeds = feeds;
    this.#roster = roster;
    this.#watchBlindMs = profile.watchBlindMs;
    this.#gauge = metrics.gauge({
      name: SUSPECT_SHARDS_GAUGE,
      help: "Shards that the zone service has not synced. No zone with a node in one of them is decided on.",
    });
  }

  /** Whether enough shards are synced to decide on any zone. */
  get suffices(): boolean {
    return this.#suffices;
  }

  /** Equal at two instants with the same suspect shards and the same consequence. */
  get state(): string {
    return `${this.#suffices} ${[...this.#suspect].join(" ")}`;
  }

  /** Reads the state of every shard. */
  update(nowMs: number): void {
    const suspect = new Set<number>();
    for (const [shard, { view }] of this.#feeds.entries()) {
      if (view.blindness(nowMs) === null) this.#known.add(shard);
      else suspect.add(shard);
    }
    this.#suspect = suspect;
    this.#gauge.set(suspect.size);
    if (this.#feeds.length - this.#known.size <= SUSPECT_SHARDS_MAX) this.#mostKnownSince ??= nowMs;
    this.#suffices = suspect.size <= SUSPECT_SHARDS_MAX && this.#hasStarted(nowMs);
  }

  /** Whether all nodes of a zone are judged and in synced shards. */
  covers(zone: string): boolean {
    if (this.#roster.unjudgedIn(partsOfDomain(zone).zone) > 0) return false;
    if (this.#suspect.size === 0) return true;
    const shards = this.#roster.zone(zone)?.shards;
    return shards !== undefined && ![...this.#suspect].some((shard) => shards.has(shard));
  }

  /** What is certain of a zone that is not covered: one ready node proves that it is not fully down. */
  certainDamage(zone: string): Damage | null {
    for (const [shard, { ready }] of this.#roster.zone(zone)?.shards ?? []) {
      if (ready > 0 && !this.#suspect.has(shard)) return "normal";
    }
    return null;
  }

  /** Whether unknown nodes may exist, so that not every zone is known to be down. */
  get isPartial(): boolean {
    return this.#suspect.size > 0 || this.#roster.unjudged > 0;
  }

  /** At a start the shards sync one by one. The last few are awaited for at most watch-blind. */
  #hasStarted(nowMs: number): boolean {
    if (this.#known.size === this.#feeds.length) return true;
    return this.#mostKnownSince !== null && nowMs - this.#mostKnownSince >= this.#watchBlindMs;
  }
}
