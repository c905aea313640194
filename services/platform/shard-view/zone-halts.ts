/**
 * Which zones are halted, according to their owners. Two processes may own a zone for a moment and disagree. The zone
 * then stays halted until no owner claims it (decision 11). Pure state.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Profile } from "../../../protocols/profile.ts";

/** A change in whether a zone is halted. */
export type HaltChange = "began" | "ended";

type HaltSettings = Pick<Profile, "pulseTimeoutMs" | "nodeMonitorGraceMs">;
type Announcement = Pick<BodyOf<"judged.zone">, "zone" | "halted" | "since" | "size">;

interface Claim {
  readonly source: string;
  readonly receivedMs: number;
}

interface Halt {
  /** The owners that claim the halt, by the instant it began. The next owner of a zone continues that instant. */
  readonly claims: Map<number, Claim>;
  /** When the halt began, by the last claim. */
  since: number;
  /** Null while the halt lasts. */
  endedMs: number | null;
}

/** The halts of all zones. Instants are on the monotonic clock, except `since`. */
export class ZoneHalts {
  readonly #profile: HaltSettings;
  readonly #halts = new Map<string, Halt>();

  constructor(profile: HaltSettings) {
    this.#profile = profile;
  }

  /** How many zones are kept. */
  get size(): number {
    return this.#halts.size;
  }

  /** Whether an owner of a zone claims that it is halted. */
  isHalted(zone: string): boolean {
    return this.#halts.get(zone)?.endedMs === null;
  }

  /** When the last halt of a zone ended, on the monotonic clock; null where one lasts or none is known. */
  endedMs(zone: string): number | null {
    return this.#halts.get(zone)?.endedMs ?? null;
  }

  /** Handles a zone message of `source`. Returns the change it makes; null for none. */
  onZone(body: Announcement, source: string, nowMs: number): HaltChange | null {
    return body.halted ? this.#claim(body, source, nowMs) : this.#deny(body, source, nowMs);
  }

  /**
   * A halt that has ended does not begin again within a grace, because an owner that has missed the end still publishes
   * it. Each end restarts every node's grace, so a silent node would never be found. Example: a halt ends at second 0,
   * and the grace is 50 s. An owner that missed the end publishes the halt until second 5. If that counted, its end
   * would restart each grace at second 5.
   */
  #claim({ zone, since }: Announcement, source: string, nowMs: number): HaltChange | null {
    const halt = this.#halts.get(zone);
    const claim = { source, receivedMs: nowMs };
    if (halt?.endedMs === null) {
      halt.since = since;
      halt.claims.set(since, claim);
      return null;
    }
    const isOver = halt?.since === since && !this.#isGraceOver(halt.endedMs, nowMs);
    if (isOver) return null;
    this.#halts.set(zone, { claims: new Map([[since, claim]]), since, endedMs: null });
    return "began";
  }

  #deny({ zone, size }: Announcement, source: string, nowMs: number): HaltChange | null {
    const halt = this.#halts.get(zone);
    if (halt === undefined) return null;
    for (const [since, claim] of halt.claims) {
      const isStale = nowMs - claim.receivedMs >= this.#profile.pulseTimeoutMs;
      if (claim.source === source || isStale) halt.claims.delete(since);
    }
    if (halt.claims.size > 0) return null;
    const isEnd = halt.endedMs === null;
    if (isEnd) halt.endedMs = nowMs;
    if (size === 0) this.#halts.delete(zone);
    return isEnd ? "ended" : null;
  }

  #isGraceOver(endedMs: number, nowMs: number): boolean {
    return nowMs - endedMs > this.#profile.nodeMonitorGraceMs;
  }
}
