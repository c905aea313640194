/**
 * The Lease without which nothing is permitted under the limits of policies, in the process that owns the eviction
 * rates. A bus that is split has owners of limits on each side; only those of the side that holds the Lease permit.
 *
 *   rates.actor ── wants it ──▶ permit-lease ──judged.lease──▶ zone/limits (which nodes may be admitted)
 *                                    ▲───────judged.limits─────────┘
 *
 * The owner of the limits of nodes is often a process that may write nothing, so this one competes for both, but only
 * while that owner decides. So a side of the bus that does not see the cluster does not compete.
 */
import { LIMITS_LEASE } from "../../../protocols/names.ts";
import type { Io, LastHolder, LeaseCandidate, Stop, Timer } from "../../../protocols/ports.ts";
import { LIMITS_REPEAT_MS } from "../../domain/limited-policies.ts";
import { pauseUntilPulseMs } from "../../platform/process/pulse.policy.ts";

const LEASE = { ...LIMITS_LEASE, gauge: "vigil_limits_lease" } as const;
/**
 * How long after the last `judged.limits` the Lease is kept for the limits of nodes, in milliseconds: with the pulse
 * timeout that is added, until the second repetition is overdue.
 */
const KEPT_MS = 2 * LIMITS_REPEAT_MS;

/** What a candidate needs of the owner of the eviction rates. */
export interface PermitLeaseContext {
  readonly io: Pick<Io, "bus" | "clock" | "profile" | "leases" | "policies">;
  /** Called each time this process begins to hold the Lease. */
  readonly acquired: (last: LastHolder) => void;
  /** What is handed over to the next holder. */
  readonly handover: () => string;
}

/** The candidacy of one process. */
export class PermitLease {
  readonly #context: PermitLeaseContext;
  #candidate: LeaseCandidate | null = null;
  #isRated = false;
  /** When `judged.limits` was received last, on the monotonic clock; null while no process publishes it. */
  #limitedMs: number | null = null;
  #published = "";
  #stop: Stop | null = null;
  #timer: Timer | null = null;

  constructor(context: PermitLeaseContext) {
    this.#context = context;
  }

  /** Whether this process holds the Lease. */
  isHeld(): boolean {
    return this.#candidate?.isHeld() === true;
  }

  /** The member that holds it; null if none does, and while that is not known. */
  holder(): string | null {
    return this.#candidate?.holder() ?? null;
  }

  own(): void {
    this.#stop ??= this.#context.io.bus.subscribe("judged.limits", 0, () => this.#onLimits());
  }

  disown(): void {
    this.#stop?.();
    this.#stop = null;
    this.#isRated = false;
    this.#endLimits();
    this.#compete();
  }

  /** Sets whether the rates of evictions need the Lease. Called before what is handed over is forgotten. */
  want(isRated: boolean): void {
    this.#isRated = isRated;
    this.#compete();
  }

  #onLimits(): void {
    const { clock, policies } = this.#context.io;
    // What the last holder hands over counts for policies that are known.
    if (policies.current() === null) return;
    const isFirst = this.#limitedMs === null;
    this.#limitedMs = clock.monotonicMs();
    if (!isFirst) return;
    this.#compete();
    this.#tick();
  }

  #endLimits(): void {
    this.#limitedMs = null;
    this.#timer?.cancel();
    this.#timer = null;
    this.#published = "";
  }

  #compete(): void {
    const isWanted = this.#isRated || this.#limitedMs !== null;
    if (!isWanted) {
      this.#candidate?.release(this.#context.handover());
      this.#candidate = null;
    } else if (this.#candidate === null) {
      this.#candidate = this.#context.io.leases.compete(LEASE, (last) => {
        this.#context.acquired(last);
        if (this.#candidate !== null && this.#limitedMs !== null) this.#publish(false);
      });
    }
  }

  #tick(): void {
    const { clock, profile } = this.#context.io;
    this.#timer = clock.after(pauseUntilPulseMs(clock.wallMs(), profile.pulsePeriodMs), () => this.#tick());
    if (this.#limitedMs !== null && clock.monotonicMs() - this.#limitedMs >= KEPT_MS + profile.pulseTimeoutMs) {
      this.#endLimits();
      this.#compete();
    } else this.#publish(true);
  }

  #publish(isRepeated: boolean): void {
    const body = { isHeld: this.isHeld(), holder: this.holder() };
    const text = JSON.stringify(body);
    if (!isRepeated && text === this.#published) return;
    this.#published = text;
    this.#context.io.bus.publish("judged.lease", body, null);
  }
}
