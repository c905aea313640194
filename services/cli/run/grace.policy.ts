/**
 * Whether the grace period suits the kubelets of a cluster. A kubelet renews its lease every quarter of the lease's
 * duration. With a grace shorter than two renewals, a healthy node is found silent as soon as one renewal is late. With
 * a grace that ends before a reader notices that no pulse arrives, every node is found silent because the bus is.
 * Example: leases of 40 s are renewed every 10 s, so a grace below 20 s is reported. Where a missing pulse is noticed
 * after 12 s, a grace below 22 s is.
 */
import type { Heartbeat } from "../../../protocols/objects.ts";
import { type Profile, TUNABLES } from "../../../protocols/profile.ts";
import { formatDuration } from "../../domain/duration.ts";
import { pulseWaitMs } from "../../platform/shard-view/watch-health.ts";
import { recordOf } from "../../structures/json.ts";

/** How often a kubelet renews within a lease's duration. Source: pkg/kubelet, nodeLeaseRenewIntervalFraction 0.25. */
const RENEWALS_PER_DURATION = 4;
/** A grace must outlast this many renewals, so that one of them may be late. */
const RENEWALS_MIN = 2;
/** Renewals kept: enough that single nodes do not matter. */
const INTERVALS_KEPT = 255;
/** Renewals from which their median counts. */
const INTERVALS_MIN = 15;
/** A kubelet adds up to this share to each period by chance. Source: pkg/kubelet, wait.JitterUntil with 0.04. */
const JITTER = 0.04;
/** A longer interval, in milliseconds, spans renewals that were not seen. */
const INTERVAL_LONGEST_MS = 45_000;

/** How often the kubelets of a cluster renew their leases: the slower of what leases say and what renewals show. */
export class RenewalPeriod {
  #listedMs: number | null = null;
  /** The last renewal of each node, by its own stamp. */
  readonly #renewedAt = new Map<string, number>();
  readonly #intervals: number[] = [];
  #next = 0;
  /** Intervals that the present sample still lacks. */
  #missing = 0;

  /** The period in milliseconds; null while nothing is known. */
  get ms(): number | null {
    const seen = this.#intervals.length < INTERVALS_MIN ? null : medianOf(this.#intervals) / (1 + JITTER);
    const known = [this.#listedMs, seen].filter((each) => each !== null);
    return known.length === 0 ? null : Math.max(...known);
  }

  /** Records listed leases. The median of their durations counts, so no single kubelet decides. */
  onLeases(leases: readonly unknown[]): void {
    const durations = leases
      .map((lease) => recordOf(recordOf(lease).spec).leaseDurationSeconds)
      .filter((seconds) => typeof seconds === "number" && seconds > 0) as number[];
    if (durations.length > 0) this.#listedMs = (medianOf(durations) * 1000) / RENEWALS_PER_DURATION;
  }

  /** Begins a sample: the renewals that follow replace those of the last one, one by one. */
  beginSample(): void {
    this.#renewedAt.clear();
    this.#missing = INTERVALS_KEPT;
  }

  /** Whether the sample is complete. Then no more heartbeats are needed. */
  get isSampled(): boolean {
    return this.#missing === 0;
  }

  /** Records a heartbeat whose arrival was observed. */
  onHeartbeat({ node, kind, renewedAt }: Pick<Heartbeat, "node" | "kind" | "renewedAt">): void {
    if (kind !== "lease" || renewedAt === null) return;
    const intervalMs = renewedAt - (this.#renewedAt.get(node) ?? Number.NaN);
    this.#renewedAt.set(node, renewedAt);
    if (!(intervalMs > 0 && intervalMs <= INTERVAL_LONGEST_MS)) return;
    this.#intervals[this.#next] = intervalMs;
    this.#next = (this.#next + 1) % INTERVALS_KEPT;
    this.#missing = Math.max(0, this.#missing - 1);
  }
}

/** The settings to which the grace period is compared. */
export type GraceSettings = Pick<Profile, "nodeMonitorGraceMs" | "pulsePeriodMs" | "pulseTimeoutMs" | "watchBlindMs">;

/** Why the grace period would make healthy nodes Unknown, in one line with the fix; null where it would not. */
export function graceProblem(profile: GraceSettings, periodMs: number | null): string | null {
  const { nodeMonitorGraceMs } = profile;
  if (periodMs === null) return null;
  const waitMs = pulseWaitMs(profile);
  const minMs = Math.max(RENEWALS_MIN * periodMs, periodMs + waitMs);
  if (nodeMonitorGraceMs >= minMs) return null;
  const flag = `--${TUNABLES.nodeMonitorGraceMs.flag}=${formatDuration(nodeMonitorGraceMs)}`;
  const every = `kubelets renew their leases every ${formatDuration(Math.round(periodMs / 100) * 100)}`;
  const isForPulses = periodMs + waitMs > RENEWALS_MIN * periodMs;
  const lost = isForPulses ? `, and lost pulses are noticed after ${formatDuration(waitMs)}` : "";
  const minimum = formatDuration(Math.ceil(minMs / 1000) * 1000);
  const shorter = isForPulses ? `, or a shorter --${TUNABLES.pulseTimeoutMs.flag}` : "";
  return `${flag}: ${every}${lost}, so healthy nodes would become Unknown; give at least ${minimum}${shorter}`;
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
