/** Wires the zone actors to the bus, one for each zone that this process owns. Decisions are in zone.policy.ts. */
import type { Outcome } from "../../protocols/done.ts";
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io, Service, Stop, Timer } from "../../protocols/ports.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { isSwappable } from "../domain/toleration.ts";
import { zoneKeyOf } from "../domain/zone-key.ts";
import { pauseUntilPulseMs } from "../platform/process/pulse.policy.ts";
import { feedShard, type ShardFeed } from "../platform/shard-view/shard-feed.ts";
import { RetrySchedule, requestRetries } from "../structures/retry-schedule.ts";
import { type Foreseen, ZoneLimits } from "./limits/zone-limits.ts";
import { announcementTimeoutMs, isRoundDue, zoneRepetition } from "./repetition.policy.ts";
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
import { EMPTY_ZONE, type Move, ZoneRoster } from "./zone.roster.ts";

/** Outcomes after which the taint of a grant shows, or may. Shadow mode shows it too. */
const LANDING: ReadonlySet<Outcome> = new Set<Outcome>(["ok", "unknown", "shadowed"]);

/**
 * The zone service. It follows the nodes of all shards, because a zone's nodes are spread over them. It publishes
 * nothing about a zone of its own while one of the zone's shards is not synced or one of its nodes is not judged.
 */
export const zoneService: Service = (io) => startZones(io, null);

/**
 * The zone service of a cluster in which no other process decides, or has decided before: it waits for no other process
 * to end. A withdrawn permit counts for as long as in the run that it foresees, whatever its own timeouts.
 */
export function soleZoneService(foreseen: Foreseen): Service {
  return (io) => startZones(io, foreseen);
}

function startZones(io: Io, foreseen: Foreseen | null): Stop {
  const zones = new Zones(io, foreseen);
  return () => zones.stop();
}

class Zones {
  readonly #io: Io;
  readonly #roster: ZoneRoster;
  readonly #feeds: readonly ShardFeed[];
  readonly #coverage: ZoneCoverage;
  readonly #actors = new Map<string, ZoneActor>();
  readonly #shards = new Set<number>();
  readonly #announcements = new Map<string, Announcement>();
  readonly #grants = new Grants({
    perSecond: (zone) => this.#announcements.get(zone)?.body.taintsPerSecond ?? 0,
    giveBack: (zone) => this.#actors.get(zone)?.refund(this.#now()),
  });
  readonly #limits: ZoneLimits;
  readonly #foreseen: Foreseen | null;
  readonly #subscribedSince: number;
  readonly #suspectRetries: RetrySchedule<number>;
  readonly #stops: Stop[];
  #contradictedBefore: ReadonlySet<string> = new Set();
  /** The zones that may have changed since they were last evaluated. */
  readonly #due = new Set<string>();
  /** What all zones showed at the last evaluation; null while too few shards were synced. */
  #allZonesBefore: AllZonesState | null = null;
  #coverageBefore = "";
  #ticker: Timer;
  #isWoken = false;
  #isStopped = false;
  #cause: string | null = null;

  constructor(io: Io, foreseen: Foreseen | null) {
    this.#io = io;
    this.#foreseen = foreseen;
    this.#subscribedSince = this.#now();
    this.#roster = new ZoneRoster(io);
    this.#suspectRetries = new RetrySchedule(requestRetries(io.profile));
    this.#feeds = Array.from({ length: SHARD_COUNT }, (_, shard) => this.#feed(shard));
    this.#coverage = new ZoneCoverage(this.#feeds, this.#roster, io);
    this.#limits = new ZoneLimits({
      io,
      isSynced: () => this.#coverage.suffices,
      grants: (zone) => (this.#fresh(zone)?.taintsPerSecond ?? 0) > 0,
      isHalted: (zone) => this.#announcements.get(zone)?.body.halted === true,
      isUnderWay: (node) => this.#grants.underWay(node) !== null,
      wake: (zone) => this.#wakeZone(zone),
      foreseen,
    });
    this.#stops = [
      io.bus.subscribe("judged.node", "all", ({ body, id }) => {
        const move = this.#roster.onJudged(body, id);
        const observed = (move.after ?? move.before)?.observed;
        if (observed !== undefined) this.#limits.onNode(observed, move.after);
        this.#apply(move, id);
      }),
      io.bus.subscribe("judged.zone", "all", ({ source, body }) => {
        this.#announcements.set(body.zone, { body, receivedAt: this.#now() });
        if (isOtherOwner(source, io.fleet.member)) this.#actors.get(body.zone)?.contradicted();
        if (!this.#shards.has(shardOf(body.zone))) this.#wake(null);
      }),
      io.bus.subscribe("asked.taint", "all", (message) => this.#onTaintGrant(message)),
      io.bus.subscribe("asked.drain", "all", ({ source, id, body }) => {
        if (isOtherOwner(source, io.fleet.member)) this.#spend(body.zone, id);
      }),
      io.bus.subscribe("done.write", "all", ({ body, cause }) => {
        if (body.ask === "asked.taint") this.#settleGrant(body, cause);
      }),
      io.bus.onGap((type, shard) => {
        // A grant whose request was lost is paid for when its taint lands.
        if (!type.startsWith("asked.")) this.#feeds[shard]?.markSuspect("messages were lost", null);
      }),
      io.policies.follow((cause) => {
        this.#roster.policiesChanged();
        for (const zone of this.#actors.keys()) this.#due.add(zone);
        this.#wake(cause);
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
    this.#limits.stop();
    for (const actor of this.#actors.values()) actor.pause();
  }

  #now(): number {
    return this.#io.clock.monotonicMs();
  }

  #feed(shard: number): ShardFeed {
    return feedShard(this.#io, shard, {
      needs: ["nodes", "leases"],
      reader: {
        node: (node, previous, cause) => {
          if (isNewlyTainted(previous, node)) this.#onTainted(node);
          this.#grants.observe(node, this.#now());
          this.#due.add(zoneKeyOf(node.labels));
          const move = this.#roster.onObserved(node);
          this.#limits.onNode(node, move.after);
          this.#apply(move, cause);
        },
        gone: ({ node }, cause) => {
          this.#grants.leave(node, this.#now());
          this.#limits.gone(node);
          this.#apply(this.#roster.onGone(node), cause);
        },
        pulse: (cause) => this.#wake(cause),
      },
    });
  }

  #observed(node: string): ObservedNode | null {
    return this.#feeds[shardOf(node)]?.view.node(node) ?? null;
  }

  #apply(move: Move, cause: string): void {
    const zones = new Set([move.before?.judged.zone, move.after?.judged.zone]);
    for (const zone of zones) {
      if (zone === undefined) continue;
      this.#actorOf(zone)?.apply(move);
      this.#due.add(zone);
    }
    this.#wake(cause);
  }

  /** Pays for a grant of another owner when its request arrives. The taint may land much later. */
  #onTaintGrant({ source, id, body }: Message<"asked.taint">): void {
    const { node, uid, why } = body;
    const observed = this.#observed(node);
    if (why !== "granted" || !isOtherOwner(source, this.#io.fleet.member) || observed?.uid !== uid) return;
    const now = this.#now();
    const zone = this.#roster.domainOf(observed);
    // Two grants to one node land one taint, so they cost one token.
    const isGranted = this.#grants.underWay(node)?.uid === uid;
    const isConditionGrant = !body.add.some(isSwappable);
    this.#grants.add({ zone, node, uid, requestId: id, atMs: now, isConditionGrant: isConditionGrant });
    if (!isGranted) this.#actors.get(zone)?.spend(now);
  }

  /** Pays for a taint without a known grant when it lands. Direct mode grants no taints. */
  #onTainted(node: ObservedNode): void {
    if (this.#io.profile.evictionMode !== "taint" || this.#grants.complete(node, this.#now())) return;
    this.#spend(this.#roster.domainOf(node), null);
  }

  #spend(zone: string, requestId: string | null): void {
    const now = this.#now();
    this.#grants.spend(zone, now, requestId);
    this.#actors.get(zone)?.spend(now);
  }

  /** Ends a grant without a write. A refused one ends when its node is observed to need no taint, or is gone. */
  #settleGrant({ node, outcome, retrying }: BodyOf<"done.write">, cause: string | null): void {
    const grant = this.#grants.underWay(node);
    if (grant === null || grant.requestId !== cause || retrying || LANDING.has(outcome)) return;
    if (outcome === "denied" || outcome === "failed") this.#limits.unwritten(node);
    if (outcome === "refused" || outcome === "gone") this.#grants.refuse(grant, this.#observed(node), this.#now());
    else this.#grants.end(grant);
  }

  #gain(shard: number): void {
    this.#shards.add(shard);
    this.#limits.gain(shard);
    for (const [zone] of this.#roster.zones()) this.#actorOf(zone);
    this.#wake(null);
  }

  #lose(shard: number): void {
    this.#shards.delete(shard);
    this.#limits.lose(shard);
    for (const [zone, actor] of this.#actors) {
      if (shardOf(zone) !== shard) continue;
      actor.pause();
      this.#actors.delete(zone);
    }
  }

  /** The actor of a zone, started if needed; null when another process owns the zone. */
  #actorOf(zone: string): ZoneActor | null {
    const known = this.#actors.get(zone);
    if (known !== undefined || !this.#shards.has(shardOf(zone))) return known ?? null;
    const actor = new ZoneActor({
      io: this.#io,
      zone,
      grants: this.#grants,
      subscribedSince: this.#subscribedSince,
      isAlone: this.#foreseen !== null,
      mayGrant: (node) => this.#limits.mayGrant(node),
      wake: () => this.#wakeZone(zone),
    });
    this.#actors.set(zone, actor);
    this.#due.add(zone);
    return actor;
  }

  #wakeZone(zone: string): void {
    this.#due.add(zone);
    this.#wake(null);
  }

  /** Evaluates after the current message, because one zone may change what all zones together show. */
  #wake(cause: string | null): void {
    this.#cause = cause ?? this.#cause;
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#io.clock.soon(() => this.#evaluate());
  }

  #evaluate(): void {
    this.#isWoken = false;
    const cause = this.#cause;
    this.#cause = null;
    if (this.#isStopped) return;
    this.#coverage.update(this.#now());
    const { suffices, state } = this.#coverage;
    const policies = this.#io.policies.current();
    // Without the policies it is not known how fast a node may be tainted, or whether at all.
    const allZones = suffices && policies !== null ? allZonesStateOf(this.#damages()) : null;
    // Most messages concern one of a thousand zones, so the others are evaluated only if what all zones show changed.
    const isSame = allZones === this.#allZonesBefore && state === this.#coverageBefore;
    const zones = isSame ? [...this.#due] : [...this.#actors.keys()];
    this.#due.clear();
    this.#allZonesBefore = allZones;
    this.#coverageBefore = state;
    for (const key of zones) {
      const actor = this.#actors.get(key);
      const zone = this.#roster.zone(key) ?? EMPTY_ZONE;
      const announced = this.#announcements.get(key) ?? null;
      if (allZones === null || !this.#coverage.covers(key)) actor?.pause();
      else actor?.evaluate({ zone, allZones, announced }, cause);
    }
  }

  /**
   * The damage of each zone with counted nodes; null for an unknown zone. While shards are suspect, a zone may be
   * entirely unknown. A generator, because the first zone nearly always decides.
   */
  *#damages(): Generator<Damage | null> {
    // All zones together treat partial and normal alike, so a policy with another threshold makes no difference.
    const { unhealthyZoneThreshold } = this.#io.profile;
    for (const [zone, { count }] of this.#roster.zones()) {
      if (count.size === 0) continue;
      const isCovered = this.#coverage.covers(zone);
      const isOwn = isCovered && this.#shards.has(shardOf(zone));
      const damage = isOwn ? damageOf(count, unhealthyZoneThreshold) : this.#announcedDamage(zone);
      yield damage ?? (isCovered ? null : this.#coverage.certainDamage(zone));
    }
    if (this.#coverage.isPartial) yield null;
  }

  /** The damage of a zone as another process last announced it; null without a recent announcement. */
  #announcedDamage(zone: string): Damage | null {
    const announced = this.#fresh(zone);
    return announced === null ? null : damageOfState(announced.state);
  }

  /**
   * What the owner of a zone announced last; null if that is old, because an owner that is not synced publishes
   * nothing.
   */
  #fresh(zone: string): Announcement["body"] | null {
    const announcement = this.#announcements.get(zone);
    return announcement !== undefined && this.#isFresh(announcement) ? announcement.body : null;
  }

  #isFresh({ receivedAt }: Announcement): boolean {
    return this.#now() - receivedAt < announcementTimeoutMs(this.#io.profile);
  }

  /** Ticks together with the pulses, so processes that receive both wake once. */
  #tickLater(): Timer {
    const { clock, profile } = this.#io;
    return clock.after(pauseUntilPulseMs(clock.wallMs(), profile.pulsePeriodMs), () => this.#tick());
  }

  #tick(): void {
    this.#ticker = this.#tickLater();
    this.#forget();
    this.#markSuspectShards();
    this.#coverage.update(this.#now());
    const published = [...this.#actors.values()].flatMap((actor) => actor.published ?? []);
    const isRound = isRoundDue(published, this.#now(), zoneRepetition(this.#io.profile));
    for (const [zone, actor] of this.#actors) {
      if (this.#coverage.suffices && this.#coverage.covers(zone)) actor.repeat(isRound);
      // Retries, such as those of a removal of taints, are due without any message.
      if (actor.isPending) this.#due.add(zone);
    }
    this.#limits.tick();
    this.#wake(null);
  }

  /** Drops the actors and announcements of empty zones, and judgements of unknown nodes. */
  #forget(): void {
    for (const [zone, actor] of this.#actors) {
      if (this.#roster.zone(zone) === null && actor.isSpent()) this.#actors.delete(zone);
    }
    for (const [zone, announcement] of this.#announcements) {
      if (this.#roster.zone(zone) !== null || this.#isFresh(announcement)) continue;
      this.#announcements.delete(zone);
      this.#grants.forgetZone(zone);
    }
    const now = this.#now();
    this.#roster.dropUnobserved((node) => this.#feeds[shardOf(node)]?.view.blindness(now) === null);
  }

  /** Marks shards suspect in which a judgement has contradicted its observation since the last tick. */
  #markSuspectShards(): void {
    const { contradicting } = this.#roster;
    const shards = new Set([...contradicting].filter((node) => this.#contradictedBefore.has(node)).map(shardOf));
    this.#contradictedBefore = new Set(contradicting);
    for (const shard of shards) {
      if (!this.#suspectRetries.isDue(shard, this.#now())) continue;
      this.#feeds[shard]?.markSuspect("a judgement is missing or contradicts its observation", null);
    }
    this.#suspectRetries.keep((shard) => shards.has(shard));
  }
}
