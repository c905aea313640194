/** Wires the zone actors to the bus, one for each zone that this process minds. Decisions are in zone.policy.ts. */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io, Service, Stop, Timer } from "../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { zoneKeyOf } from "../domain/zone-key.ts";
import { pauseUntilPulseMs } from "../platform/process/pulse.policy.ts";
import { feedShard, type ShardFeed } from "../platform/shard-view/shard-feed.ts";
import { RetrySchedule, requestRetries } from "../platform/structures/retry-schedule.ts";
import { type Announcement, ZoneActor } from "./zone.actor.ts";
import { ZoneCoverage } from "./zone.coverage.ts";
import { Grants, isOtherOwner } from "./zone.grants.ts";
import {
  type AllZonesState,
  allZonesStateOf,
  type Damage,
  damageOf,
  damageOfState,
  isNewlyTainted,
} from "./zone.policy.ts";
import { Refunds } from "./zone.refunds.ts";
import { EMPTY_ZONE, type Move, ZoneRoster } from "./zone.roster.ts";

/**
 * The zone service. It follows the nodes of all shards, because a zone's nodes are spread over all of them, and stays
 * silent about a zone of its own while a shard of that zone's nodes is not whole or one of them has not been judged.
 */
export const zoneService: Service = (io) => {
  const zones = new Zones(io);
  return () => zones.stop();
};

class Zones {
  readonly #io: Io;
  readonly #roster: ZoneRoster;
  readonly #feeds: readonly ShardFeed[];
  readonly #coverage: ZoneCoverage;
  readonly #actors = new Map<string, ZoneActor>();
  readonly #shards = new Set<number>();
  readonly #announcements = new Map<string, Announcement>();
  readonly #grants = new Grants();
  readonly #refunds = new Refunds({
    grants: this.#grants,
    perSecond: (zone) => this.#announcements.get(zone)?.body.taintsPerSecond ?? 0,
    giveBack: (zone) => this.#actors.get(zone)?.refund(this.#io.clock.monotonicMs()),
  });
  readonly #listeningSince: number;
  readonly #suspectRetries: RetrySchedule<number>;
  readonly #stops: Stop[];
  #contradictedBefore: ReadonlySet<string> = new Set();
  /** The zones that may be otherwise than when they were last evaluated. */
  readonly #due = new Set<string>();
  /** What all zones were last evaluated with; null while too little was seen. */
  #allZonesBefore: AllZonesState | null = null;
  #coverageBefore = "";
  #ticker: Timer;
  #isDirty = false;
  #isStopped = false;
  #cause: string | null = null;

  constructor(io: Io) {
    this.#io = io;
    this.#listeningSince = io.clock.monotonicMs();
    this.#roster = new ZoneRoster(io.profile.evictionMode);
    this.#suspectRetries = new RetrySchedule(requestRetries(io.profile));
    this.#feeds = Array.from({ length: SHARD_COUNT }, (_, shard) => this.#feed(shard));
    this.#coverage = new ZoneCoverage(this.#feeds, this.#roster, io);
    this.#stops = [
      io.bus.subscribe("judged.node", "all", ({ body, id }) => this.#take(this.#roster.takeJudged(body, id), id)),
      io.bus.subscribe("judged.zone", "all", (message) => this.#takeAnnouncement(message)),
      io.bus.subscribe("asked.taint", "all", (message) => this.#takeTaintGrant(message)),
      io.bus.subscribe("asked.drain", "all", ({ source, id, body }) => this.#takeDrainGrant(body.zone, source, id)),
      io.bus.subscribe("done.write", "all", (message) => this.#settle(message)),
      io.bus.onGap((type, shard) => {
        // A grant that was not heard is paid for when its taint lands.
        if (!type.startsWith("asked.")) this.#feeds[shard]?.markSuspect("messages were lost", null);
      }),
      io.fleet.follow("zone", { gained: (shard) => this.#gain(shard), lost: (shard) => this.#lose(shard) }),
    ];
    this.#ticker = this.#tickLater();
  }

  stop(): void {
    this.#isStopped = true;
    this.#ticker.cancel();
    for (const stop of this.#stops) stop();
    for (const feed of this.#feeds) feed.stop();
    for (const actor of this.#actors.values()) actor.pause();
  }

  #feed(shard: number): ShardFeed {
    return feedShard(this.#io, shard, {
      needs: ["nodes", "leases"],
      reader: {
        node: (node, previous, cause) => {
          if (isNewlyTainted(previous, node)) this.#takeTainted(node);
          this.#refunds.observe(node, this.#io.clock.monotonicMs());
          this.#due.add(zoneKeyOf(node.labels));
          this.#take(this.#roster.takeObserved(node), cause);
        },
        gone: ({ node }, cause) => {
          this.#refunds.leave(node, this.#io.clock.monotonicMs());
          this.#take(this.#roster.takeGone(node), cause);
        },
        pulse: (cause) => this.#wake(cause),
      },
    });
  }

  #take(move: Move, cause: string): void {
    const zones = new Set([move.before?.judged.zone, move.after?.judged.zone]);
    for (const zone of zones) {
      if (zone === undefined) continue;
      this.#actorOf(zone)?.take(move);
      this.#due.add(zone);
    }
    this.#wake(cause);
  }

  #takeAnnouncement({ body }: Message<"judged.zone">): void {
    const heardAt = this.#io.clock.monotonicMs();
    this.#announcements.set(body.zone, { body, heardAt });
    if (!this.#shards.has(shardOf(body.zone))) this.#wake(null);
  }

  /** Pays for a grant of another owner when it is heard: its taint may land much later. */
  #takeTaintGrant({ source, id, body }: Message<"asked.taint">): void {
    const { node, uid, why } = body;
    const observed = this.#feeds[shardOf(node)]?.view.node(node) ?? null;
    if (why !== "granted" || !isOtherOwner(source, this.#io.fleet.member) || observed?.uid !== uid) return;
    const now = this.#io.clock.monotonicMs();
    const zone = zoneKeyOf(observed.labels);
    // Of two grants to the same node one taint lands, which is paid for.
    const isGranted = this.#grants.underWay(node)?.uid === uid;
    this.#grants.add({ zone, node, uid, ask: id, atMs: now });
    if (!isGranted) this.#actors.get(zone)?.spend(now);
  }

  #takeDrainGrant(zone: string, source: string, ask: string): void {
    if (isOtherOwner(source, this.#io.fleet.member)) this.#spend(zone, ask);
  }

  /** Pays for a taint that nobody was heard to grant when it lands. In direct mode no taint is granted. */
  #takeTainted(node: ObservedNode): void {
    const { clock, profile } = this.#io;
    if (profile.evictionMode !== "taint" || this.#grants.complete(node, clock.monotonicMs())) return;
    this.#spend(zoneKeyOf(node.labels), null);
  }

  #spend(zone: string, ask: string | null): void {
    const now = this.#io.clock.monotonicMs();
    this.#grants.spend(zone, now, ask);
    this.#actors.get(zone)?.spend(now);
  }

  #settle({ id, body, cause }: Message<"done.write">): void {
    const { ask, kind, outcome, change } = body;
    if (ask === "asked.condition" && outcome === "shadowed") this.#take(this.#roster.takeShadowed(body), id);
    if (ask === "asked.taint") this.#settleGrant(body, cause);
    if (kind !== "Node" || outcome !== "ok" || change === "") return;
    for (const actor of this.#actors.values()) actor.endRests();
  }

  /** Ends a grant of which nothing is written; one that was refused ends when its node is observed well or gone. */
  #settleGrant({ node, outcome, retrying }: BodyOf<"done.write">, cause: string | null): void {
    const grant = this.#grants.underWay(node);
    if (grant === null || grant.ask !== cause || retrying || outcome === "ok" || outcome === "unknown") return;
    if (outcome === "shadowed") this.#actors.get(grant.zone)?.rest(node, grant.ask);
    if (outcome === "refused" || outcome === "gone") {
      const observed = this.#feeds[shardOf(node)]?.view.node(node) ?? null;
      this.#refunds.refuse(grant, observed, this.#io.clock.monotonicMs());
    } else this.#grants.end(grant);
  }

  #gain(shard: number): void {
    this.#shards.add(shard);
    for (const [zone] of this.#roster.zones()) this.#actorOf(zone);
    this.#wake(null);
  }

  #lose(shard: number): void {
    this.#shards.delete(shard);
    for (const [zone, actor] of this.#actors) {
      if (shardOf(zone) !== shard) continue;
      actor.pause();
      this.#actors.delete(zone);
    }
  }

  /** The actor of a zone, made when there is none yet; null when another process minds the zone. */
  #actorOf(zone: string): ZoneActor | null {
    const known = this.#actors.get(zone);
    if (known !== undefined || !this.#shards.has(shardOf(zone))) return known ?? null;
    const wake = (): void => {
      this.#due.add(zone);
      this.#wake(null);
    };
    const shared = { io: this.#io, grants: this.#grants, listeningSince: this.#listeningSince };
    const actor = new ZoneActor({ ...shared, zone, wake });
    this.#actors.set(zone, actor);
    this.#due.add(zone);
    return actor;
  }

  /** Evaluates what is due once the message at hand is done: one zone that changes may change the outlook of all. */
  #wake(cause: string | null): void {
    this.#cause = cause ?? this.#cause;
    if (this.#isDirty) return;
    this.#isDirty = true;
    this.#io.clock.soon(() => this.#evaluate());
  }

  #evaluate(): void {
    this.#isDirty = false;
    const cause = this.#cause;
    this.#cause = null;
    if (this.#isStopped) return;
    this.#coverage.update(this.#io.clock.monotonicMs());
    const { suffices, state } = this.#coverage;
    const allZones = suffices ? allZonesStateOf(this.#damages()) : null;
    const isSame = allZones === this.#allZonesBefore && state === this.#coverageBefore;
    // Of a thousand zones most messages are about one: a zone that is as it was, under the same outlook, stays so.
    const zones = isSame ? [...this.#due] : [...this.#actors.keys()];
    this.#due.clear();
    this.#allZonesBefore = allZones;
    this.#coverageBefore = state;
    for (const zone of zones) this.#evaluateZone(zone, allZones, cause);
  }

  #evaluateZone(zone: string, allZones: AllZonesState | null, cause: string | null): void {
    const actor = this.#actors.get(zone);
    const announced = this.#announcements.get(zone) ?? null;
    if (allZones === null || !this.#coverage.covers(zone)) actor?.pause();
    else actor?.evaluate({ zone: this.#roster.zone(zone) ?? EMPTY_ZONE, allZones, announced }, cause);
  }

  /**
   * The damage of each zone with counted nodes; one that is not down is nearly always the first. Where something is not
   * seen there may be a zone of which nothing is known.
   */
  *#damages(): Generator<Damage | null> {
    for (const [zone, { count }] of this.#roster.zones()) {
      if (count.size === 0) continue;
      const isSeen = this.#coverage.covers(zone);
      const isOwn = this.#shards.has(shardOf(zone));
      const damage = isOwn && isSeen ? damageOf(count, this.#io.profile.unhealthyZoneThreshold) : this.#announced(zone);
      yield damage ?? (isSeen ? null : this.#coverage.certainDamage(zone));
    }
    if (this.#coverage.isPartial) yield null;
  }

  /** What another process has announced of its zone lately; null when nothing is known. */
  #announced(zone: string): Damage | null {
    const announcement = this.#announcements.get(zone);
    return announcement !== undefined && this.#isFresh(announcement) ? damageOfState(announcement.body.state) : null;
  }

  #isFresh({ heardAt }: Announcement): boolean {
    return this.#io.clock.monotonicMs() - heardAt < this.#io.profile.pulseTimeoutMs;
  }

  /** Together with the pulses, so that who hears both is woken once. */
  #tickLater(): Timer {
    const { clock, profile } = this.#io;
    return clock.after(pauseUntilPulseMs(clock.wallMs(), profile.pulsePeriodMs), () => this.#tick());
  }

  #tick(): void {
    this.#ticker = this.#tickLater();
    this.#forget();
    this.#markSuspectShards();
    this.#coverage.update(this.#io.clock.monotonicMs());
    for (const [zone, actor] of this.#actors)
      if (this.#coverage.suffices && this.#coverage.covers(zone)) actor.announce();
    // What has to be repeated, as taking taints back has, is due with time alone.
    for (const zone of this.#actors.keys()) this.#due.add(zone);
    this.#wake(null);
  }

  /** Lets go of empty zones whose pace no longer matters, of what was announced of them and of unknown nodes. */
  #forget(): void {
    for (const [zone, actor] of this.#actors) {
      if (this.#roster.zone(zone) === null && actor.isSpent()) this.#actors.delete(zone);
    }
    for (const [zone, announcement] of this.#announcements) {
      const isAbandoned = this.#roster.zone(zone) === null;
      if (!isAbandoned || this.#isFresh(announcement)) continue;
      this.#announcements.delete(zone);
      this.#grants.forgetZone(zone);
      this.#refunds.forgetZone(zone);
    }
    const now = this.#io.clock.monotonicMs();
    this.#roster.dropUnobserved((node) => this.#feeds[shardOf(node)]?.view.blindness(now) === null);
  }

  /** Distrusts the shards in which judgement and observation have contradicted each other since the last tick. */
  #markSuspectShards(): void {
    const { contradicting } = this.#roster;
    const shards = new Set([...contradicting].filter((node) => this.#contradictedBefore.has(node)).map(shardOf));
    this.#contradictedBefore = new Set(contradicting);
    const now = this.#io.clock.monotonicMs();
    for (const shard of shards) {
      if (this.#suspectRetries.isDue(shard, now))
        this.#feeds[shard]?.markSuspect("a judgement is missing or contradicts", null);
    }
    this.#suspectRetries.keep((shard) => shards.has(shard));
  }
}
