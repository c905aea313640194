/**
 * What the pulses of a shard report of outages, for the shards that this process writes. A request may be decided
 * before an outage and retried after it, before the observer has reported the outage. The pulse with which an outage
 * begins may also be lost. So the pulses of shard 0, which carry until when nodes were heard, count for every shard.
 */
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import type { Bus, Clock, Stop } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { outageMinMs } from "../domain/paused-time/outages.ts";
import { translated, WatchHealth, type WatchHealthProfile } from "../platform/shard-view/watch-health.ts";

/** What is known of outages that concern a node. */
export interface OutagesSeen {
  /** Why the observer may not have reported yet that nodes could not be heard; null when it has. */
  readonly blindness: string | null;
  /** The outages that it has found. */
  readonly outages: readonly FrozenInterval[];
}

type OutagesProfile = WatchHealthProfile & Pick<Profile, "nodeMonitorGraceMs">;

interface ShardPulses {
  readonly health: WatchHealth;
  outages: readonly FrozenInterval[];
}

/** The shard whose pulses carry until when nodes were heard. */
const HEARD_SHARD = 0;

/** Until when nodes were heard is not known: an observer that reads its evidence publishes an outage that lasts. */
const UNKNOWN = { monotonicMs: Number.POSITIVE_INFINITY, wallMs: Number.POSITIVE_INFINITY };

/** The last pulse of each followed shard, and until when nodes were heard. */
export class ObservedOutages {
  readonly #clock: Pick<Clock, "monotonicMs" | "wallMs">;
  readonly #profile: OutagesProfile;
  readonly #shards = new Map<number, ShardPulses>();
  /**
   * From when on nodes may not be heard: a pulse that was lost may have reported an outage. On both clocks, because the
   * wall clock may be set, and the monotonic clock stops while its machine is suspended.
   */
  #unheardFrom = UNKNOWN;

  constructor(clock: Pick<Clock, "monotonicMs" | "wallMs">, profile: OutagesProfile) {
    this.#clock = clock;
    this.#profile = profile;
  }

  /** Follows until when nodes were heard. */
  followHeard(bus: Pick<Bus, "subscribe">): Stop {
    return bus.subscribe("observed.pulse", HEARD_SHARD, ({ at, body: { heard } }) => {
      if (heard === undefined) {
        this.#unheardFrom = UNKNOWN;
        return;
      }
      const silentMaxMs = outageMinMs(this.#profile) + this.#profile.pulsePeriodMs;
      const heardMs = translated(heard.at, at, this.#clock.monotonicMs());
      this.#unheardFrom = { monotonicMs: heardMs + silentMaxMs, wallMs: heard.at + silentMaxMs };
    });
  }

  /**
   * Follows the pulses of a shard and requests one: whether nodes could be heard is unknown before the first, which may
   * be a long period away.
   */
  follow(bus: Pick<Bus, "subscribe" | "publish">, shard: number): Stop {
    const health = new WatchHealth(["nodes", "leases"], this.#profile, this.#clock.monotonicMs());
    const pulses: ShardPulses = { health, outages: [] };
    this.#shards.set(shard, pulses);
    const stop = bus.subscribe("observed.pulse", shard, (message) => {
      health.onPulse(message, this.#clock.monotonicMs());
      pulses.outages = message.body.outages ?? [];
    });
    bus.publish("asked.resync", { shard, reason: "no pulse yet" }, null);
    return () => {
      stop();
      this.#shards.delete(shard);
    };
  }

  /** What is known for a node of a followed shard. */
  about(node: string): OutagesSeen {
    const pulses = this.#shards.get(shardOf(node));
    if (pulses === undefined) return { blindness: "the shard has another owner", outages: [] };
    const nowMs = this.#clock.monotonicMs();
    const { monotonicMs, wallMs } = this.#unheardFrom;
    const isUnheard = nowMs > monotonicMs || this.#clock.wallMs() > wallMs;
    const unheard = isUnheard ? "no pulse says that any node has been heard lately" : null;
    return { blindness: pulses.health.blindness(nowMs) ?? unheard, outages: pulses.outages };
  }
}
