/** The actor of one zone: keeps its bucket and its queue, steps its machine, and carries out the machine's actions. */
import { isDeepStrictEqual } from "node:util";
import { QUEUE_PUBLISHED_MAX } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Io, Timer } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";
import { RetrySchedule, requestRetries, retryPauseMs } from "../structures/retry-schedule.ts";
import { isRepeatDue, type Published, zoneRepetition } from "./repetition.policy.ts";
import {
  atRate,
  type Bucket,
  bucketWith,
  charged,
  hasToken,
  newBucket,
  nextTokenAt,
  paid,
  tokensAt,
  waiting,
  withoutToken,
  withTokenBack,
} from "./zone.bucket.ts";
import type { Grants } from "./zone.grants.ts";
import {
  announcedState,
  type DisruptionState,
  INITIAL_ZONE_STATE,
  inheritedState,
  stepZone,
  type ZoneAction,
  type ZoneEvent,
  type ZoneStateValue,
} from "./zone.machine.ts";
import {
  type AllZonesState,
  byWaitingTime,
  damageOf,
  grantRequest,
  isForCondition,
  newestTaintAt,
  ownTaintsOf,
  taintRemovalRequest,
  taintsPerSecondOf,
  waitsForGrant,
  zoneProfileOf,
} from "./zone.policy.ts";
import { type MayGrant, ZoneQueue } from "./zone.queue.ts";
import { EMPTY_ZONE, type Member, type Move, type Zone } from "./zone.roster.ts";

/** What an actor needs besides the ports. */
export interface ZoneActorOptions {
  readonly io: Io;
  readonly zone: string;
  /** The grants of all zones, including those of this zone's earlier owners. */
  readonly grants: Grants;
  /** Since when this process receives what other owners announce, on the monotonic clock. */
  readonly subscribedSince: number;
  /** Whether no other process decides, or has decided before. */
  readonly isAlone: boolean;
  /** Whether the limits of its policy let a node be granted. */
  readonly mayGrant: MayGrant;
  /** Requests another evaluation. */
  readonly wake: () => void;
}

/** The last message in which an owner announced its zone. */
export interface Announcement {
  readonly body: BodyOf<"judged.zone">;
  /** On the monotonic clock. */
  readonly receivedAt: number;
}

/**
 * How long the request of an owner unknown to this process may be under way, in milliseconds. 99 % of writes take less
 * than 1 s on a healthy API server (the API latency objective of Kubernetes). This allows for a slow one.
 */
const UNSEEN_REQUEST_MS = 5000;

/** The disruption states that need not be published with every pulse. */
const WELL: ReadonlySet<DisruptionState> = new Set<DisruptionState>(["Initial", "Normal"]);

/** The content of an announcement, without the tokens, which change with time alone. */
type Announced = Omit<BodyOf<"judged.zone">, "tokens">;
/** The state of the cluster as one zone needs it. */
export interface ClusterView {
  readonly zone: Zone;
  readonly allZones: AllZonesState;
  /** The last announcement of the zone, by any owner; null for none. */
  readonly announced: Announcement | null;
}

/** A zone that this process owns. */
export class ZoneActor {
  readonly #options: ZoneActorOptions;
  readonly #queue = new ZoneQueue();
  /** The nodes that carry one of our NoExecute taints. */
  readonly #tainted = new Set<string>();
  readonly #clearing: RetrySchedule<string>;
  #state: ZoneStateValue = INITIAL_ZONE_STATE;
  /** When the disruption state began, on the wall clock. */
  #since: number;
  #bucket: Bucket = newBucket(0, 0);
  #zone: Zone = EMPTY_ZONE;
  #announced: (Published & { readonly body: Announced }) | null = null;
  /** Whether the last announcement was of a zone without members. */
  #isPublishedEmpty = false;
  #timer: Timer | null = null;

  constructor(options: ZoneActorOptions) {
    this.#options = options;
    this.#clearing = new RetrySchedule(requestRetries(options.io.profile));
    this.#since = options.io.clock.wallMs();
  }

  /** Applies the change of one node, which may have left this zone, entered it or changed in it. */
  apply({ before, after }: Move): void {
    if (this.#state.cluster === "unsynced") return;
    const { zone } = this.#options;
    if (after?.judged.zone === zone) this.#place(after);
    else if (before?.judged.zone === zone) {
      this.#queue.remove(before.observed.node);
      this.#tainted.delete(before.observed.node);
    }
  }

  /** Updates state and rate, and grants and requests what is due. Only for a cluster that is seen as a whole. */
  evaluate(view: ClusterView, cause: string | null): void {
    const { zone, allZones, announced } = view;
    const { io, zone: key } = this.#options;
    const { clock } = io;
    const profile = zoneProfileOf(io.profile, key, io.policies.current());
    this.#zone = zone;
    if (this.#state.cluster === "unsynced" && announced !== null) {
      this.#state = inheritedState(announced.body);
      this.#since = Math.min(announced.body.since, clock.wallMs());
    }
    const actions = this.#step(allZones, damageOf(zone.count, profile.unhealthyZoneThreshold));
    const { cluster, disruption } = this.#state;
    const perSecond = taintsPerSecondOf(disruption, zone.count.size, profile);
    const now = clock.monotonicMs();
    if (actions.includes("takeOver")) this.#takeOver(perSecond, announced, now);
    else this.#bucket = atRate(this.#bucket, perSecond, now);
    if (actions.includes("removeTaints")) this.#removeTaints(now, cause);
    if (cluster === "healthy") this.#grant(now);
    // Node actors restart the grace of each node when they receive the end of a halt.
    this.#announce(actions.includes("restartGraces"), cause);
  }

  /** Stops granting until the next evaluation, because the cluster is not seen as a whole. */
  pause(): void {
    this.#step("stale");
  }

  /** When the present announcement was made first and last; null before there is one, and during a pause. */
  get published(): Published | null {
    return this.#state.cluster === "unsynced" ? null : this.#announced;
  }

  /** Publishes the zone's state again; one that has been well for a while only in a round, which repeats all zones. */
  repeat(isRound: boolean): void {
    const { profile, clock } = this.#options.io;
    if (this.#announced === null) return;
    const isWell = this.#announced.body.queueLength === 0 && WELL.has(this.#state.disruption);
    const isDue = isRound || isRepeatDue(this.#announced, clock.monotonicMs(), zoneRepetition(profile));
    if (isWell && !isDue) return;
    this.#announce(true, null);
  }

  /** Repeats the zone's state with each of the next pulses, because another owner has announced it too. */
  contradicted(): void {
    if (this.#announced === null) return;
    this.#announced = { ...this.#announced, sinceMs: this.#options.io.clock.monotonicMs() };
  }

  /** Whether time alone may change what is due: a retry, a grant, or the end of a pause. */
  get isPending(): boolean {
    return this.#state.cluster === "unsynced" || this.#queue.size > 0 || this.#tainted.size > 0;
  }

  /** Pays for a taint or a drain of this zone that another owner granted. */
  spend(now: number): void {
    this.#bucket = charged(this.#bucket, now);
  }

  /** Returns the last token to the bucket, because nothing was written for it. */
  refund(now: number): void {
    if (this.#state.cluster === "unsynced") return;
    this.#bucket = withTokenBack(this.#bucket, now);
    this.#options.wake();
  }

  /** Whether this actor can be dropped: the zone was announced as empty, and a new bucket would be as full. */
  isSpent(): boolean {
    if (!this.#isPublishedEmpty) return false;
    const isFull = this.#bucket.stopped || hasToken(this.#bucket, this.#options.io.clock.monotonicMs());
    return isFull && this.#queue.size === 0;
  }

  get #mode(): Profile["evictionMode"] {
    return this.#options.io.profile.evictionMode;
  }

  #place(member: Member): void {
    const { node, uid } = member.observed;
    if (waitsForGrant(member, this.#mode)) this.#queue.add(node, uid);
    else this.#queue.remove(node);
    if (ownTaintsOf(member.observed).length > 0) this.#tainted.add(node);
    else this.#tainted.delete(node);
  }

  /** Steps the machine by one event after the other and returns all actions. */
  #step(...events: readonly ZoneEvent[]): readonly ZoneAction[] {
    const { disruption: from } = this.#state;
    const actions = events.flatMap((event) => {
      const step = stepZone(this.#state, event);
      this.#state = step.state;
      return step.actions;
    });
    if (actions.includes("stopGrants")) this.#timer?.cancel();
    const { disruption: to } = this.#state;
    if (from !== to) {
      const { io, zone } = this.#options;
      io.log.debug("zone state changed", { zone: zoneTitleOf(zone), from, to });
      this.#since = io.clock.wallMs();
    }
    return actions;
  }

  /** Builds the queue from judgements and grants, and the bucket from what is known to be spent. */
  #takeOver(perSecond: number, announced: Announcement | null, now: number): void {
    const { zone, grants } = this.#options;
    const members = [...this.#zone.members.values()].sort(byWaitingTime);
    for (const member of members) {
      this.#place(member);
      const grant = grants.underWay(member.observed.node);
      if (grant?.uid !== member.observed.uid) continue;
      this.#queue.granted(grant.node, grant.requestId, grant.atMs + this.#pauseMs(1));
    }
    const bucket =
      announced === null
        ? this.#estimatedBucket(perSecond, members, now)
        : bucketWith(announced.body.taintsPerSecond, announced.body.tokens, announced.receivedAt);
    const spentAt = grants.spentAtMs(zone);
    this.#bucket = atRate(spentAt === null ? bucket : paid(bucket, spentAt, now), perSecond, now);
  }

  #pauseMs(grants: number): number {
    return retryPauseMs(grants, requestRetries(this.#options.io.profile));
  }

  /**
   * The bucket of a zone without a known owner. It has paid for the newest taint on a node and, if nodes wait, for one
   * request that may be in flight.
   */
  #estimatedBucket(perSecond: number, members: readonly Member[], now: number): Bucket {
    const paidAt = this.#lastPaidAt(members, now);
    const full = newBucket(perSecond, now);
    const bucket = paidAt === null ? full : paid(full, paidAt, now);
    const waitMs = this.#options.subscribedSince + UNSEEN_REQUEST_MS - now;
    return this.#queue.size > 0 ? waiting(bucket, Math.max(0, waitMs), now) : bucket;
  }

  /** When a token was last spent, according to the API. Direct mode leaves no trace there, so it may have been now. */
  #lastPaidAt(members: readonly Member[], now: number): number | null {
    if (this.#mode !== "taint") return this.#options.isAlone ? null : now;
    const newestAt = newestTaintAt(members.map(({ observed }) => observed));
    return newestAt === null ? null : now - (this.#options.io.clock.wallMs() - newestAt);
  }

  #grant(now: number): void {
    this.#timer?.cancel();
    const { mayGrant } = this.#options;
    const head = this.#queue.head(now, mayGrant);
    if (head !== null && hasToken(this.#bucket, now)) {
      const member = this.#zone.members.get(head.node);
      const isConditionGrant = member !== undefined && isForCondition(member);
      const requestId = this.#request(head.node);
      this.#queue.granted(head.node, requestId, now + this.#pauseMs(head.grants + 1));
      if (requestId !== null) {
        this.#bucket = withoutToken(this.#bucket, now);
        const { zone, grants } = this.#options;
        // A drain adds no taint, so none is under way.
        if (this.#mode !== "taint") grants.spend(zone, now, requestId);
        else
          grants.add({
            zone,
            node: head.node,
            uid: head.uid,
            requestId,
            atMs: now,
            isConditionGrant: isConditionGrant,
          });
      }
    }
    const againAt = Math.max(this.#queue.headAt(mayGrant), nextTokenAt(this.#bucket));
    if (againAt === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#options.io.clock.after(againAt - now, this.#options.wake);
  }

  /** Requests what a grant allows. Returns the id of the request; null if the node needs nothing any more. */
  #request(node: string): string | null {
    const { bus } = this.#options.io;
    const member = this.#zone.members.get(node);
    if (member === undefined) return null;
    const { observed, cause } = member;
    if (this.#mode !== "taint") {
      return bus.publish("asked.drain", { node, uid: observed.uid, zone: this.#options.zone }, cause);
    }
    const request = grantRequest(member);
    return request === null ? null : bus.publish("asked.taint", request, cause);
  }

  /**
   * Requests the removal of our taints. Direct mode leaves taints untouched, and its node actors cancel their drains.
   */
  #removeTaints(now: number, cause: string | null): void {
    if (this.#mode !== "taint") return;
    for (const node of this.#tainted) {
      const member = this.#zone.members.get(node);
      const request = member === undefined ? null : taintRemovalRequest(member.observed);
      if (request === null || !this.#clearing.isDue(node, now)) continue;
      this.#options.io.bus.publish("asked.taint", request, cause);
    }
    this.#clearing.keep((node) => this.#tainted.has(node));
  }

  #announce(isRepeated: boolean, cause: string | null): void {
    if (this.#state.cluster === "unsynced") return;
    const now = this.#options.io.clock.monotonicMs();
    const queue = this.#queue.size === 0 ? {} : { queue: this.#queue.first(QUEUE_PUBLISHED_MAX, now) };
    const announcement: Announced = {
      zone: this.#options.zone,
      state: announcedState(this.#state),
      since: this.#since,
      ...this.#zone.count,
      taintsPerSecond: this.#bucket.perSecond,
      queueLength: this.#queue.size,
      ...queue,
      halted: this.#state.disruption === "Halted",
    };
    const same = isDeepStrictEqual(announcement, this.#announced?.body) ? this.#announced : null;
    if (!isRepeated && same !== null) return;
    this.#announced = { body: announcement, sinceMs: same?.sinceMs ?? now, atMs: now };
    this.#isPublishedEmpty = this.#zone.members.size === 0;
    const tokens = tokensAt(this.#bucket, now);
    this.#options.io.bus.publish("judged.zone", { ...announcement, tokens }, cause);
  }
}
