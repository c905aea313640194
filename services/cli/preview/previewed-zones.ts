/** The zones of a preview: the roster and the actors of the zone service, evaluated together as there. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Io } from "../../../protocols/ports.ts";
import { ZoneActor } from "../../zone/zone.actor.ts";
import { Grants } from "../../zone/zone.grants.ts";
import { type AllZonesState, allZonesStateOf, damageOf, isNewlyTainted } from "../../zone/zone.policy.ts";
import { EMPTY_ZONE, type Move, ZoneRoster } from "../../zone/zone.roster.ts";

/** All zones of one cluster under one owner that sees all of it. */
export class PreviewedZones {
  readonly #io: Io;
  readonly #roster: ZoneRoster;
  // No grant is refused in a preview, so no zone gets a token back.
  readonly #grants = new Grants({ perSecond: () => 0, giveBack: () => {} });
  readonly #actors = new Map<string, ZoneActor>();
  readonly #due = new Set<string>();
  #allZonesBefore: AllZonesState | null = null;
  #isWoken = false;

  constructor(io: Io) {
    this.#io = io;
    this.#roster = new ZoneRoster(io.profile.evictionMode);
  }

  takeJudged(judged: BodyOf<"judged.node">, id: string): void {
    this.#take(this.#roster.takeJudged(judged, id));
  }

  takeObserved(previous: ObservedNode | null, node: ObservedNode): void {
    // The token of a grant was spent when it was given, so its taint costs none.
    if (isNewlyTainted(previous, node)) this.#grants.complete(node, this.#io.clock.monotonicMs());
    this.#take(this.#roster.takeObserved(node));
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
    const actor = new ZoneActor({ ...shared, zone, mayGrant: () => true, wake: () => this.#wake(zone) });
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
    for (const [, { count }] of this.#roster.zones()) {
      if (count.size > 0) yield damageOf(count, this.#io.profile.unhealthyZoneThreshold);
    }
  }
}
