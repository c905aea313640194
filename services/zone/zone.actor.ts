/**
 * The actor of one zone: holds its bucket and its queue, steps its machine, and carries out what the steps call for.
 */
import { QUEUE_PUBLISHED_MAX } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Io, Timer } from "../../protocols/ports.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";
import { RetrySchedule, requestRetries, retryPauseMs } from "../platform/structures/retry-schedule.ts";
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
  newestTaintAt,
  ownTaintsOf,
  taintRemovalRequest,
  taintRequest,
  taintsPerSecondOf,
  waitsForGrant,
} from "./zone.policy.ts";
import { type QueuedNode, ZoneQueue } from "./zone.queue.ts";
import { EMPTY_ZONE, type Member, type Move, type Zone } from "./zone.roster.ts";

/** What an actor needs besides the ports. */
export interface ZoneActorOptions {
  readonly io: Io;
  readonly zone: string;
  /** What all zones have granted, this one before it had this owner too. */
  readonly grants: Grants;
  /** Since when this process has heard what other owners announce, on the monotonic clock. */
  readonly listeningSince: number;
  /** Asks to be evaluated again. */
  readonly wake: () => void;
}

/** What an owner of a zone has announced of it. */
export interface Announcement {
  readonly body: BodyOf<"judged.zone">;
  /** When it was heard, on the monotonic clock. */
  readonly heardAt: number;
}

/**
 * How long a request of an owner that this process never heard may still be under way, in milliseconds. 99 % of writes
 * take less than 1 s on a healthy API server (the API latency objective of Kubernetes); this allows for a slow one.
 */
const UNSEEN_REQUEST_MS = 5000;

/** What the whole cluster looks like to a zone at this moment. */
export interface ClusterView {
  readonly zone: Zone;
  readonly allZones: AllZonesState;
  /** What was last announced of the zone, by whichever owner; null when nothing was heard. */
  readonly announced: Announcement | null;
}

/** A zone of which this process is the owner. */
export class ZoneActor {
  readonly #options: ZoneActorOptions;
  readonly #queue = new ZoneQueue();
  /** The nodes that carry one of our NoExecute taints. */
  readonly #tainted = new Set<string>();
  readonly #clearing: RetrySchedule<string>;
  #state: ZoneStateValue = INITIAL_ZONE_STATE;
  /** When its disruption began, on the wall clock. */
  #since: number;
  #bucket: Bucket = newBucket(0, 0);
  #zone: Zone = EMPTY_ZONE;
  #announced = "";
  /** Whether the zone had no member when it was last announced. */
  #isPublishedEmpty = false;
  #timer: Timer | null = null;

  constructor(options: ZoneActorOptions) {
    this.#options = options;
    this.#clearing = new RetrySchedule(requestRetries(options.io.profile));
    this.#since = options.io.clock.wallMs();
  }

  /** Takes note of what became of one node; it may have left this zone, entered it or changed in it. */
  take({ before, after }: Move): void {
    if (this.#state.cluster === "unsynced") return;
    const { zone } = this.#options;
    if (after?.judged.zone === zone) this.#place(after);
    else if (before?.judged.zone === zone) {
      this.#queue.remove(before.observed.node);
      this.#tainted.delete(before.observed.node);
    }
  }

  /** Brings state, pace and asks up to date with a cluster that is seen as a whole. */
  evaluate(view: ClusterView, cause: string | null): void {
    const { zone, allZones, announced } = view;
    const { profile, clock } = this.#options.io;
    this.#zone = zone;
    if (this.#state.cluster === "unsynced" && announced !== null) this.#inherit(announced.body);
    const actions = this.#step(allZones, damageOf(zone.count, profile.unhealthyZoneThreshold));
    const { cluster, disruption } = this.#state;
    const perSecond = taintsPerSecondOf(disruption, zone.count.size, profile);
    const now = clock.monotonicMs();
    if (actions.includes("takeOver")) this.#takeOver(perSecond, announced, now);
    else this.#bucket = atRate(this.#bucket, perSecond, now);
    if (actions.includes("takeTaintsBack")) this.#takeTaintsBack(now, cause);
    if (cluster === "spared") this.#grant(now);
    // Node actors restart the grace of each node when they receive the end of a halt.
    this.#announce(actions.includes("restartGraces"), cause);
  }

  /** Stops granting until the next evaluation, because the cluster is not seen as a whole. */
  pause(): void {
    this.#step("stale");
  }

  /** Tells the zone's state again, changed or not. */
  announce(): void {
    this.#announce(true, null);
  }

  /** Pays for a taint or a drain of this zone that another owner has granted. */
  spend(now: number): void {
    this.#bucket = charged(this.#bucket, now);
  }

  /** Gives the last token back, because nothing was written for it: its node is well or gone. */
  refund(now: number): void {
    if (this.#state.cluster === "unsynced") return;
    this.#bucket = withTokenBack(this.#bucket, now);
    this.#options.wake();
  }

  /** Lets a node rest whose grant only shadow mode carried out. */
  rest(node: string, ask: string): void {
    this.#queue.rest(node, ask);
  }

  /** Takes word that something is written after all: what was only rehearsed is due again. */
  endRests(): void {
    if (this.#queue.endRests()) this.#options.wake();
  }

  /** Whether nothing is lost by forgetting this zone: all know it empty, and a new bucket would be as full. */
  isSpent(): boolean {
    if (!this.#isPublishedEmpty) return false;
    const isFull = this.#bucket.stopped || hasToken(this.#bucket, this.#options.io.clock.monotonicMs());
    return isFull && this.#queue.size === 0;
  }

  get #mode(): string {
    return this.#options.io.profile.evictionMode;
  }

  #place(member: Member): void {
    const { node, uid, taints } = member.observed;
    if (waitsForGrant(member, this.#mode)) this.#queue.add(node, uid);
    else this.#queue.remove(node);
    if (ownTaintsOf(taints).length > 0) this.#tainted.add(node);
    else this.#tainted.delete(node);
  }

  /** Steps the machine by one event after the other; returns what the steps call for. */
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
      io.log.info("zone state changed", { zone: zoneTitleOf(zone), from, to });
      this.#since = io.clock.wallMs();
    }
    return actions;
  }

  /** Continues the state that the last owner has announced, since when it did. */
  #inherit(announced: BodyOf<"judged.zone">): void {
    this.#state = inheritedState(announced);
    this.#since = Math.min(announced.since, this.#options.io.clock.wallMs());
  }

  /** Takes the zone over: its queue from what is judged and granted, its bucket from what is known to be spent. */
  #takeOver(perSecond: number, announced: Announcement | null, now: number): void {
    const { zone, grants, io } = this.#options;
    const members = [...this.#zone.members.values()].sort(byWaitingTime);
    for (const member of members) {
      this.#place(member);
      const grant = grants.underWay(member.observed.node);
      if (grant?.uid === member.observed.uid) {
        this.#queue.granted(grant.node, grant.ask, grant.atMs + retryPauseMs(1, requestRetries(io.profile)));
      }
    }
    const bucket =
      announced === null
        ? this.#estimatedBucket(perSecond, members, now)
        : bucketWith(announced.body.taintsPerSecond, announced.body.tokens, announced.heardAt);
    const spentAt = grants.spentAtMs(zone);
    this.#bucket = atRate(spentAt === null ? bucket : paid(bucket, spentAt, now), perSecond, now);
  }

  /**
   * The bucket of a zone of which no owner was heard: the newest taint that stands is paid for, and so is a request
   * that may be under way, which is for one of the nodes that wait.
   */
  #estimatedBucket(perSecond: number, members: readonly Member[], now: number): Bucket {
    const paidAt = this.#lastPaidAt(members, now);
    const bucket = paidAt === null ? newBucket(perSecond, now) : paid(newBucket(perSecond, now), paidAt, now);
    const waitMs = this.#options.listeningSince + UNSEEN_REQUEST_MS - now;
    return this.#queue.size > 0 ? waiting(bucket, Math.max(0, waitMs), now) : bucket;
  }

  /** When the last turn was granted, as far as the API tells; in direct mode nothing tells, so it may have been now. */
  #lastPaidAt(members: readonly Member[], now: number): number | null {
    if (this.#mode !== "taint") return now;
    const newestAt = newestTaintAt(members.map(({ observed }) => observed));
    return newestAt === null ? null : now - (this.#options.io.clock.wallMs() - newestAt);
  }

  #grant(now: number): void {
    this.#timer?.cancel();
    const head = this.#queue.head(now);
    if (head !== null && hasToken(this.#bucket, now)) {
      const ask = this.#requestFor(head.node);
      this.#queue.granted(
        head.node,
        ask,
        now + retryPauseMs(head.grants + 1, requestRetries(this.#options.io.profile)),
      );
      if (ask !== null) {
        this.#bucket = withoutToken(this.#bucket, now);
        this.#note(head, ask, now);
      }
    }
    const againAt = Math.max(this.#queue.headAt(), nextTokenAt(this.#bucket));
    if (againAt === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#options.io.clock.after(againAt - now, this.#options.wake);
  }

  /** Notes a grant for this owner and the next; a drain does not land, so none is under way. */
  #note({ node, uid }: QueuedNode, ask: string, atMs: number): void {
    const { zone, grants } = this.#options;
    if (this.#mode === "taint") grants.add({ zone, node, uid, ask, atMs });
    else grants.spend(zone, atMs, ask);
  }

  /** Asks for what a turn brings; the ask's id, or null when the node turned out to need nothing. */
  #requestFor(node: string): string | null {
    const { bus } = this.#options.io;
    const member = this.#zone.members.get(node);
    if (member === undefined) return null;
    const { observed, cause } = member;
    if (this.#mode !== "taint") {
      return bus.publish("asked.drain", { node, uid: observed.uid, zone: this.#options.zone }, cause);
    }
    const ask = taintRequest(observed);
    return ask === null ? null : bus.publish("asked.taint", ask, cause);
  }

  /** In direct mode taints are left alone; the node actors call their drains off. */
  #takeTaintsBack(now: number, cause: string | null): void {
    if (this.#mode !== "taint") return;
    for (const node of this.#tainted) {
      const member = this.#zone.members.get(node);
      const ask = member === undefined ? null : taintRemovalRequest(member.observed);
      if (ask !== null && this.#clearing.isDue(node, now)) this.#options.io.bus.publish("asked.taint", ask, cause);
    }
    this.#clearing.keep((node) => this.#tainted.has(node));
  }

  #announce(again: boolean, cause: string | null): void {
    if (this.#state.cluster === "unsynced") return;
    const now = this.#options.io.clock.monotonicMs();
    const queue = this.#queue.size === 0 ? {} : { queue: this.#queue.first(QUEUE_PUBLISHED_MAX, now) };
    const announcement = {
      zone: this.#options.zone,
      state: announcedState(this.#state),
      since: this.#since,
      ...this.#zone.count,
      taintsPerSecond: this.#bucket.perSecond,
      queueLength: this.#queue.size,
      ...queue,
      halted: this.#state.disruption === "Halted",
    };
    const announced = JSON.stringify(announcement);
    if (!again && announced === this.#announced) return;
    this.#announced = announced;
    this.#isPublishedEmpty = this.#zone.members.size === 0;
    const tokens = tokensAt(this.#bucket, now);
    this.#options.io.bus.publish("judged.zone", { ...announcement, tokens }, cause);
  }
}
