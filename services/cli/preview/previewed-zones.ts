/** The zones of a preview: the roster, the actors and the limits of the zone service, evaluated together as there. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Io } from "../../../protocols/ports.ts";
import { presentHold } from "../../domain/maintenance.ts";
import { ZoneLimits } from "../../zone/limits/zone-limits.ts";
import { ZoneActor } from "../../zone/zone.actor.ts";
import { Grants } from "../../zone/zone.grants.ts";
import {
  type AllZonesState,
  allZonesStateOf,
  damageOf,
  isNewlyTainted,
  zoneProfileOf,
} from "../../zone/zone.policy.ts";
import { EMPTY_ZONE, type Move, ZoneRoster } from "../../zone/zone.roster.ts";

/** What the zones need of the preview. */
export interface PreviewedZonesContext {
  readonly io: Io;
  /** What each zone announced last. */
  readonly announced: ReadonlyMap<string, BodyOf<"judged.zone">>;
}

/** The shard whose owner decides about limits. */
const LIMITS_SHARD = 0;

/** All zones of one cluster under one owner that sees all of it. */
export class PreviewedZones {
  readonly #io: Io;
  readonly #roster: ZoneRoster;
  // No grant is refused in a preview, so no zone gets a token back.
  readonly #grants = new Grants({ perSecond: () => 0, giveBack: () => {} });
  readonly #limits: ZoneLimits;
  readonly #actors = new Map<string, ZoneActor>();
  readonly #due = new Set<string>();
  /** The instants at which limits decide again, in epoch milliseconds. */
  readonly #ticks = new Set<number>();
  #allZonesBefore: AllZonesState | null = null;
  #isWoken = false;

  constructor({ io, announced }: PreviewedZonesContext) {
    this.#io = io;
    this.#roster = new ZoneRoster(io);
    this.#limits = new ZoneLimits({
      io,
      isSynced: () => true,
      grants: (zone) => (announced.get(zone)?.taintsPerSecond ?? 0) > 0,
      isHalted: (zone) => announced.get(zone)?.halted === true,
      isUnderWay: (node) => this.#grants.underWay(node) !== null,
      wake: (zone) => this.#wake(zone),
      isAlone: true,
    });
    this.#limits.gain(LIMITS_SHARD);
    this.#wakeAfterFreezes();
  }

  takeJudged(judged: BodyOf<"judged.node">, id: string): void {
    const move = this.#roster.takeJudged(judged, id);
    const observed = (move.after ?? move.before)?.observed;
    if (observed !== undefined) this.#limits.take(observed, move.after);
    this.#take(move);
  }

  takeObserved(previous: ObservedNode | null, node: ObservedNode): void {
    // The token of a grant was spent when it was given, so its taint costs none.
    if (isNewlyTainted(previous, node)) this.#grants.complete(node, this.#io.clock.monotonicMs());
    const move = this.#roster.takeObserved(node);
    this.#limits.take(node, move.after);
    this.#take(move);
    this.#wakeAfterMaintenance(node);
  }

  /** Lets the limits decide again when what holds nodes back ends by itself. A run asks with every pulse. */
  takeLimits({ holds }: BodyOf<"judged.limits">): void {
    for (const { untilAt } of holds) if (untilAt !== null) this.#at(untilAt, () => this.#limits.tick());
  }

  /** Lets the limits decide again when a zone is halted or goes on. */
  grantsChanged(): void {
    this.#at(this.#io.clock.wallMs(), () => this.#limits.tick());
  }

  #wakeAfterFreezes(): void {
    const set = this.#io.policies.current();
    const intervals = [set?.everywhere, ...(set?.policies ?? [])].flatMap((freezes) => freezes?.frozen ?? []);
    for (const { toAt } of intervals) {
      if (toAt !== null) this.#at(toAt, () => this.#wakeAll());
    }
  }

  #wakeAfterMaintenance(node: ObservedNode): void {
    const policies = this.#io.policies.current()?.policies ?? [];
    const hold = node.conditions.length === 0 ? null : presentHold(node, policies, this.#io.clock.wallMs());
    if (hold !== null) this.#at(hold.untilAt, () => this.#wakeAll());
  }

  #wakeAll(): void {
    this.#limits.tick();
    for (const zone of this.#actors.keys()) this.#wake(zone);
  }

  /** Calls back once at an instant, unless that is planned already. */
  #at(at: number, run: () => void): void {
    const { clock } = this.#io;
    if (this.#ticks.has(at) || at < clock.wallMs()) return;
    this.#ticks.add(at);
    clock.after(at - clock.wallMs(), () => {
      this.#ticks.delete(at);
      run();
    });
  }

  #take(move: Move): void {
    for (const zone of new Set([move.before?.judged.zone, move.after?.judged.zone])) {
      if (zone === undefined) continue;
      this.#actorOf(zone).take(move);
      this.#wake(zone);
    }
  }

  #actorOf(zone: string): ZoneActor {
    const known = this.#actors.get(zone);
    if (known !== undefined) return known;
    const shared = { io: this.#io, grants: this.#grants, subscribedSince: Number.NEGATIVE_INFINITY };
    const mayGrant = (node: string): boolean => this.#limits.mayGrant(node);
    const actor = new ZoneActor({ ...shared, zone, mayGrant, wake: () => this.#wake(zone) });
    this.#actors.set(zone, actor);
    return actor;
  }

  #wake(zone: string): void {
    this.#due.add(zone);
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#io.clock.soon(() => this.#evaluate());
  }

  #evaluate(): void {
    this.#isWoken = false;
    const allZones = allZonesStateOf(this.#damages());
    const zones = allZones === this.#allZonesBefore ? [...this.#due] : [...this.#actors.keys()];
    this.#allZonesBefore = allZones;
    this.#due.clear();
    for (const key of zones) {
      const zone = this.#roster.zone(key) ?? EMPTY_ZONE;
      this.#actors.get(key)?.evaluate({ zone, allZones, announced: null }, null);
    }
  }

  *#damages() {
    const { profile, policies } = this.#io;
    for (const [key, { count }] of this.#roster.zones()) {
      const { unhealthyZoneThreshold } = zoneProfileOf(profile, key, policies.current());
      if (count.size > 0) yield damageOf(count, unhealthyZoneThreshold);
    }
  }
}
