/**
 * Decides how old a live read may be when the write that rests on it is sent. A node that was read NotReady may have
 * recovered since, and no precondition on the pod shows that. A read is valid for a second while the server is quick.
 * On a slow server it is valid for a few request latencies, because a second may pass before the next request of the
 * same eviction is answered. Instants are monotonic milliseconds; if the wall clock shows more elapsed time, that
 * counts.
 */

/** How long a read is valid on a quick server, in milliseconds. */
const READ_AGE_MAX_MS = 1000;
/** On a slow one, in request latencies: an eviction sends two requests after its reads and may have to queue. */
const REQUESTS_OF_AGE = 3;
/** Samples kept for each verb and kind, and for how long: enough that one slow request does not decide. */
const SAMPLES_MAX = 100;
const RECENT_MS = 60_000;
const PERCENTILE = 0.99;

interface Sample {
  readonly latencyMs: number;
  readonly endedAtMs: number;
}

/** How long recent requests took, by verb and kind. */
export class RecentLatencies {
  readonly #samples = new Map<string, Sample[]>();

  /** Adds an answered request; `request` names its verb and kind. */
  add(request: string, sample: Sample): void {
    const samples = this.#samples.get(request) ?? [];
    this.#samples.set(request, samples);
    samples.push(sample);
    if (samples.length > SAMPLES_MAX) samples.shift();
  }

  /** The 99th percentile of the slowest verb and kind, in milliseconds; 0 without recent requests. */
  slowestP99Ms(nowMs: number): number {
    return Math.max(0, ...[...this.#samples.values()].map((samples) => p99Ms(samples, nowMs)));
  }
}

function p99Ms(samples: readonly Sample[], nowMs: number): number {
  const recent = samples.filter(({ endedAtMs }) => nowMs - endedAtMs <= RECENT_MS);
  const latencies = recent.map(({ latencyMs }) => latencyMs).toSorted((left, right) => left - right);
  return latencies[Math.ceil(latencies.length * PERCENTILE) - 1] ?? 0;
}

/** A smaller move of the wall clock against the monotonic one is a slew, in milliseconds. */
const SLEWED_MS = 10;

/** The two clocks of a machine at one instant. */
export interface Instants {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How far the wall clock is ahead of the monotonic one, from an instant on. */
interface Lead {
  readonly fromMs: number;
  readonly aheadMs: number;
}

/**
 * Elapsed time by either clock of a machine. While a virtual machine is paused its monotonic clock may stop; its wall
 * clock is then stepped forward. Example: a read is answered and the machine is paused for 60 s. The monotonic clock
 * shows 0.2 s, the wall clock 60.2 s, so the read is 60.2 s old and no write may rest on it.
 */
export class ElapsedTime {
  readonly #leads: Lead[] = [];

  /** Records both clocks; `keptMs` is how far back instants are needed. */
  note({ monotonicMs, wallMs }: Instants, keptMs: number): void {
    const aheadMs = wallMs - monotonicMs;
    const last = this.#leads.at(-1);
    if (last === undefined || Math.abs(aheadMs - last.aheadMs) >= SLEWED_MS) {
      this.#leads.push({ fromMs: monotonicMs, aheadMs });
    }
    while ((this.#leads[1]?.fromMs ?? Number.POSITIVE_INFINITY) < monotonicMs - keptMs) this.#leads.shift();
  }

  /** Milliseconds since an instant of the monotonic clock, by the clock that shows more. */
  sinceMs(instantMs: number, { monotonicMs, wallMs }: Instants): number {
    const then = this.#leads.findLast(({ fromMs }) => fromMs <= instantMs);
    const jumpedMs = then === undefined ? 0 : wallMs - monotonicMs - then.aheadMs;
    return monotonicMs - instantMs + Math.max(0, jumpedMs);
  }
}

/**
 * Whether a read of this age is too old at `nowMs` for a write to rest on it. Latency alone extends its validity to at
 * most `graceMs`, the grace period of a node.
 */
export function isTooOld(ageMs: number, nowMs: number, latencies: RecentLatencies, graceMs: number): boolean {
  return ageMs > READ_AGE_MAX_MS && ageMs > Math.min(REQUESTS_OF_AGE * latencies.slowestP99Ms(nowMs), graceMs);
}
