/**
 * Which zones are halted, by what their owners announce. Two processes may own a zone for a moment and see different
 * things; then the zone stays halted until none of them says so any more. Pure state.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";

/** Whether a zone came to be halted, or is no longer. */
export type HaltChange = "began" | "ended";

interface Claim {
  readonly source: string;
  readonly receivedMs: number;
}

interface Halt {
  /** Who says that the zone is halted, by the instant since when; its next owner continues that instant. */
  readonly claims: Map<number, Claim>;
  /** Since when the zone was halted, as it was claimed last. */
  since: number;
  /** When the halt ended, on the monotonic clock; null while it goes on. */
  endedMs: number | null;
}

/** The halts of all zones. Instants are on the monotonic clock, but for `since`. */
export class ZoneHalts {
  readonly #profile: Pick<Profile, "pulseTimeoutMs" | "nodeMonitorGraceMs">;
  readonly #halts = new Map<string, Halt>();

  constructor(profile: Pick<Profile, "pulseTimeoutMs" | "nodeMonitorGraceMs">) {
    this.#profile = profile;
  }

  /** How many zones are remembered. */
  get size(): number {
    return this.#halts.size;
  }

  /** Takes an announcement of `source`. Returns what it changes; null when that is nothing. */
  take(body: Pick<BodyOf<"judged.zone">, "zone" | "halted" | "since" | "size">, source: string, nowMs: number) {
    return body.halted ? this.#claim(body.zone, { since: body.since, source, nowMs }) : this.#deny(body, source, nowMs);
  }

  /**
   * A halt that has just ended does not begin again, because an owner that has not noticed the end still announces it:
   * each end gives every node its whole grace, and a silent one would never be found.
   */
  #claim(zone: string, claim: { since: number; source: string; nowMs: number }): HaltChange | null {
    const { since, source, nowMs } = claim;
    const halt = this.#halts.get(zone);
    if (halt?.endedMs === null) {
      halt.since = since;
      halt.claims.set(since, { source, receivedMs: nowMs });
      return null;
    }
    const isOver = halt?.since === since && nowMs - halt.endedMs <= this.#profile.nodeMonitorGraceMs;
    if (isOver) return null;
    this.#halts.set(zone, { claims: new Map([[since, { source, receivedMs: nowMs }]]), since, endedMs: null });
    return "began";
  }

  #deny(
    { zone, size }: Pick<BodyOf<"judged.zone">, "zone" | "size">,
    source: string,
    nowMs: number,
  ): HaltChange | null {
    const halt = this.#halts.get(zone);
    if (halt === undefined) return null;
    const isForgotten =
      size === 0 || (halt.endedMs !== null && nowMs - halt.endedMs > this.#profile.nodeMonitorGraceMs);
    for (const [since, claim] of halt.claims) {
      const isStale = nowMs - claim.receivedMs >= this.#profile.pulseTimeoutMs;
      if (claim.source === source || isStale) halt.claims.delete(since);
    }
    if (halt.claims.size > 0) return null;
    const isEnd = halt.endedMs === null;
    if (isEnd) halt.endedMs = nowMs;
    if (isForgotten) this.#halts.delete(zone);
    return isEnd ? "ended" : null;
  }
}
