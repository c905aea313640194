/**
 * When the halts of zones ended, by what each member has received of them. A halt is identified by the instant at which
 * it began. The next owner of a zone continues that instant, so its claim replaces its predecessor's, and a claim of a
 * halt that has ended begins nothing (decision 11). This file judges nothing.
 */
import type { Message } from "../../protocols/messages.ts";
import type { WatchViews } from "./watch-views.ts";
import type { World } from "./world.ts";

/** How much faster than the world's a drifting clock may run. */
export const FAST = 1.001;

/** The process that claimed a halt last, and when a member heard it, by that member's own clock. */
interface Claim {
  readonly source: string;
  readonly heardMs: number;
}

/** What a member has heard of one zone in its present life. */
interface Heard {
  /** The member's last death, on the monotonic clock: it knows nothing of what it heard before. */
  readonly diedMs: number;
  /** By the instant at which the halt began. */
  readonly claims: Map<number, Claim>;
  /** The instants at which halts began that are over. */
  readonly over: Set<number>;
  /** When the last halt ended, on the wall clock; null where none surely has. */
  endedMs: number | null;
}

/** The halts of all zones, as each member heard of them. */
export class HeardHalts {
  readonly #world: World;
  readonly #watchViews: WatchViews;
  /** By member and zone. */
  readonly #heard = new Map<string, Heard>();

  constructor(world: World, watchViews: WatchViews) {
    this.#world = world;
    this.#watchViews = watchViews;
  }

  /** Records a zone's announcement that a member receives. */
  onZone({ body, source }: Message<"judged.zone">, member: string): void {
    const heard = this.#of(member, body.zone);
    const nowMs = this.#watchViews.ownMs(member);
    if (!body.halted) this.#deny(heard, source, nowMs);
    else if (heard.claims.size > 0 || !heard.over.has(body.since))
      heard.claims.set(body.since, { source, heardMs: nowMs });
  }

  /** When the last halt of a zone ended for a member, on the wall clock; null where none surely has in its life. */
  endedMs(member: string, zone: string): number | null {
    return this.#of(member, zone).endedMs;
  }

  /**
   * A halt ends when no process claims it. The claim of a process that has published nothing for the pulse timeout does
   * not count any more. Right at that timeout it is not certain with which message the halt ended: such an end is not
   * noted.
   */
  #deny(heard: Heard, source: string, nowMs: number): void {
    const oldMs = this.#world.swarm.profile.pulseTimeoutMs / FAST;
    const isOwn = (claim: Claim): boolean => claim.source === source;
    const dropped = [...heard.claims].filter(([, claim]) => isOwn(claim) || nowMs - claim.heardMs >= oldMs);
    for (const [since] of dropped) {
      heard.claims.delete(since);
      heard.over.add(since);
    }
    const isSure = dropped.length > 0 && dropped.every(([, claim]) => isOwn(claim));
    if (isSure && heard.claims.size === 0) heard.endedMs = this.#world.clock.wallMs();
  }

  #of(member: string, zone: string): Heard {
    const key = `${member} ${zone}`;
    const diedMs = this.#watchViews.diedMs(member);
    const known = this.#heard.get(key);
    if (known?.diedMs === diedMs) return known;
    const heard: Heard = { diedMs, claims: new Map(), over: new Set(), endedMs: null };
    this.#heard.set(key, heard);
    return heard;
  }
}
