/** One zone at work: its state, its bucket and its queue. What they mean is decided in policy and machine. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Io, Timer } from "../../protocols/ports.ts";
import { pauseMs, Repetition } from "../runtime/repetition.ts";
import { zoneTitleOf } from "../runtime/zone-key.ts";
import {
  atRate,
  type Bucket,
  hasToken,
  newBucket,
  nextTokenAt,
  paid,
  tokensAt,
  withoutToken,
  withTokenBack,
} from "./zone.bucket.ts";
import { announcedState, FIRST_ZONE_LIFE, nextZoneLife, type ZoneLife } from "./zone.machine.ts";
import {
  clearAsk,
  damageOf,
  inOrderOfWaiting,
  newestTaintAt,
  type Outlook,
  ownTaintsOf,
  taintsPerSecondOf,
  turnAsk,
  wantsTurn,
} from "./zone.policy.ts";
import { ZoneQueue } from "./zone.queue.ts";
import type { Member, Move, Zone } from "./zone.roster.ts";

/** What an actor needs besides the ports. */
export interface ZoneActorOptions {
  readonly io: Io;
  readonly zone: string;
  /** Asks to be evaluated again. */
  readonly wake: () => void;
}

/** What the whole cluster looks like to a zone at this moment. */
export interface Circumstances {
  readonly zone: Zone;
  readonly outlook: Outlook;
  /** What was last announced of the zone, whoever minded it then; null when nothing is remembered. */
  readonly announced: BodyOf<"judged.zone"> | null;
}

/** A zone of which this process is the owner. */
export class ZoneActor {
  readonly #options: ZoneActorOptions;
  readonly #queue = new ZoneQueue();
  /** The nodes that carry one of our NoExecute taints. */
  readonly #tainted = new Set<string>();
  readonly #clearing: Repetition<string>;
  #life: ZoneLife = FIRST_ZONE_LIFE;
  #since: number;
  /** What was announced before this owner began, until it is known whether that goes on. */
  #inherited: BodyOf<"judged.zone"> | null = null;
  /** Null until the whole cluster has been seen once: till then the actor is silent. */
  #bucket: Bucket | null = null;
  #zone: Zone | null = null;
  #announced = "";
  /** Whether the zone had no member when it was last announced. */
  #isToldEmpty = false;
  /** Id of the ask that the last turn led to. */
  #lastTurn: string | null = null;
  #timer: Timer | null = null;

  constructor(options: ZoneActorOptions) {
    this.#options = options;
    this.#clearing = new Repetition(options.io.profile);
    this.#since = options.io.clock.wallMs();
  }

  /** Takes note of what became of one node; it may have left this zone, entered it or changed in it. */
  take({ before, after }: Move): void {
    if (this.#bucket === null) return;
    const was = this.#isHere(before) ? before : null;
    const is = this.#isHere(after) ? after : null;
    const now = this.#options.io.clock.monotonicMs();
    if (was !== null && is !== null && hasLanded(was, is)) this.#bucket = paid(this.#bucket, now, now);
    if (is !== null) this.#place(is);
    else if (was !== null) this.#drop(was.observed.node);
  }

  /** Brings state, pace and asks up to date with a cluster that is seen as a whole. */
  evaluate(circumstances: Circumstances, cause: string | null): void {
    const { zone, outlook, announced } = circumstances;
    const { profile, clock } = this.#options.io;
    this.#zone = zone;
    if (this.#bucket === null) this.#inherit(announced);
    const damage = damageOf(zone.count, profile.unhealthyZoneThreshold);
    const isHalted = outlook === "disrupted" || (outlook === "unclear" && this.#life === "Halted");
    this.#enter(nextZoneLife(this.#life, { type: isHalted ? "everyZoneDown" : damage }));
    if (outlook !== "unclear") this.#inherited = null;
    const perSecond = isHalted ? 0 : taintsPerSecondOf(damage, zone.count.size, profile);
    const now = clock.monotonicMs();
    if (this.#bucket === null) this.#begin(perSecond, now);
    else this.#bucket = atRate(this.#bucket, perSecond, now);
    if (isHalted && this.#mode === "taint") this.#takeBackTaints(zone, now, cause);
    this.pause();
    if (outlook === "spared") this.#grant(now);
    this.#announce(false, cause);
  }

  /** Stops granting until the next evaluation, because the cluster is not seen as a whole. */
  pause(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Tells the zone's state again, changed or not. */
  announce(): void {
    this.#announce(true, null);
  }

  /**
   * Takes what came of an ask. A turn that changed nothing, its node being well or gone, gives its token back, unless
   * another was granted since: then the next would follow that one too soon.
   */
  settle({ node, outcome }: BodyOf<"done.write">, ask: string): void {
    if (outcome === "shadowed") this.#queue.rest(node, ask);
    if (this.#bucket === null || (outcome !== "refused" && outcome !== "gone")) return;
    if (!this.#queue.takeBack(node, ask) || ask !== this.#lastTurn) return;
    this.#bucket = withTokenBack(this.#bucket, this.#options.io.clock.monotonicMs());
    this.#options.wake();
  }

  /** Takes word that something is written after all: what was only rehearsed is due again. */
  rouse(): void {
    if (this.#queue.rouse()) this.#options.wake();
  }

  /** Whether nothing is lost by forgetting this zone: all know it empty, and a new bucket would be as full. */
  isSpent(): boolean {
    if (this.#bucket === null || !this.#isToldEmpty) return false;
    const isFull = this.#bucket.stopped || hasToken(this.#bucket, this.#options.io.clock.monotonicMs());
    return isFull && this.#queue.size === 0;
  }

  get #mode(): string {
    return this.#options.io.profile.evictionMode;
  }

  #isHere(member: Member | null): member is Member {
    return member?.judged.zone === this.#options.zone;
  }

  #place(member: Member): void {
    const { node, uid, taints } = member.observed;
    if (wantsTurn(member, this.#mode)) this.#queue.add(node, uid);
    else this.#queue.remove(node);
    if (ownTaintsOf(taints).length > 0) this.#tainted.add(node);
    else this.#tainted.delete(node);
  }

  #drop(node: string): void {
    this.#queue.remove(node);
    this.#tainted.delete(node);
  }

  #enter(life: ZoneLife): void {
    if (life === this.#life) return;
    const { io, zone } = this.#options;
    io.log.info("zone state changed", { zone: zoneTitleOf(zone), from: this.#life, to: life });
    this.#life = life;
    this.#since = this.#sinceOf(life);
  }

  #inherit(announced: BodyOf<"judged.zone"> | null): void {
    this.#inherited = announced;
    this.#since = this.#sinceOf(this.#life);
  }

  /** Since when the zone is in a state that this owner finds now: longer than that, where it was announced before. */
  #sinceOf(life: ZoneLife): number {
    const now = this.#options.io.clock.wallMs();
    const { state, halted, since = now } = this.#inherited ?? {};
    const isOn = state === announcedState(life) && halted === (life === "Halted");
    return isOn ? Math.min(since, now) : now;
  }

  /** Takes the zone over: its queue from what is judged, its pace from the taints that stand on its nodes. */
  #begin(perSecond: number, now: number): void {
    const members = [...(this.#zone?.members.values() ?? [])].sort(inOrderOfWaiting);
    for (const member of members) this.#place(member);
    const bucket = newBucket(perSecond, now);
    const paidAt = this.#lastPaidAt(members, now);
    this.#bucket = paidAt === null ? bucket : paid(bucket, paidAt, now);
  }

  /** When the last turn was granted, as far as the API tells; in direct mode nothing tells, so it may have been now. */
  #lastPaidAt(members: readonly Member[], now: number): number | null {
    if (this.#mode !== "taint") return now;
    const newestAt = newestTaintAt(members.map(({ observed }) => observed));
    return newestAt === null ? null : now - (this.#options.io.clock.wallMs() - newestAt);
  }

  #grant(now: number): void {
    if (this.#bucket === null) return;
    const head = this.#queue.head(now);
    if (head !== null && hasToken(this.#bucket, now)) {
      const ask = this.#askFor(head.node);
      this.#queue.granted(head.node, ask, now + pauseMs(head.turns + 1, this.#options.io.profile));
      if (ask !== null) {
        this.#bucket = withoutToken(this.#bucket, now);
        this.#lastTurn = ask;
      }
    }
    const againAt = Math.max(this.#queue.headAt(), nextTokenAt(this.#bucket));
    if (againAt === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#options.io.clock.after(againAt - now, this.#options.wake);
  }

  /** Asks for what a turn brings; the ask's id, or null when the node turned out to need nothing. */
  #askFor(node: string): string | null {
    const { bus } = this.#options.io;
    const member = this.#zone?.members.get(node);
    if (member === undefined) return null;
    const { observed, cause } = member;
    if (this.#mode !== "taint") {
      return bus.publish("asked.drain", { node, uid: observed.uid, zone: this.#options.zone }, cause);
    }
    const ask = turnAsk(observed);
    return ask === null ? null : bus.publish("asked.taint", ask, cause);
  }

  #takeBackTaints({ members }: Zone, now: number, cause: string | null): void {
    for (const node of this.#tainted) {
      const member = members.get(node);
      const ask = member === undefined ? null : clearAsk(member.observed);
      if (ask !== null && this.#clearing.isDue(node, now)) this.#options.io.bus.publish("asked.taint", ask, cause);
    }
    this.#clearing.keep((node) => this.#tainted.has(node));
  }

  #announce(again: boolean, cause: string | null): void {
    if (this.#bucket === null || this.#zone === null) return;
    const told = {
      zone: this.#options.zone,
      state: announcedState(this.#life),
      since: this.#since,
      ...this.#zone.count,
      taintsPerSecond: this.#bucket.perSecond,
      queueLength: this.#queue.size,
      halted: this.#life === "Halted",
    };
    const announced = JSON.stringify(told);
    if (!again && announced === this.#announced) return;
    this.#announced = announced;
    this.#isToldEmpty = this.#zone.members.size === 0;
    const tokens = tokensAt(this.#bucket, this.#options.io.clock.monotonicMs());
    this.#options.io.bus.publish("judged.zone", { ...told, tokens }, cause);
  }
}

/** Whether a taint of ours landed on a node that had none: a turn was spent, whoever granted it. */
function hasLanded(before: Member, after: Member): boolean {
  if (before.observed.uid !== after.observed.uid) return false;
  return ownTaintsOf(before.observed.taints).length === 0 && ownTaintsOf(after.observed.taints).length > 0;
}
