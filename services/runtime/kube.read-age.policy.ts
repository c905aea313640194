/**
 * How old a live read may be when the write that rests on it is sent. A node that was read NotReady may have recovered
 * since, and no precondition on the pod shows it; so a read counts for a second, as long as the server is quick. On a
 * slow one a second is over before the next request of the same eviction has been answered. There a read counts for a
 * few times as long as requests take. Instants are monotonic milliseconds.
 */

/** How long a read counts on a quick server, in milliseconds. */
const READ_AGE_MAX_MS = 1000;
/** On a slow one: for as many requests, because an eviction sends two after its reads and may have to queue. */
const REQUESTS_OF_AGE = 3;
/**
 * How many requests of each verb and kind are remembered, and for how long: enough to be told apart from one mishap.
 */
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

  /** Remembers a request that was answered; `request` names its verb and kind. */
  add(request: string, sample: Sample): void {
    const samples = this.#samples.get(request) ?? [];
    this.#samples.set(request, samples);
    samples.push(sample);
    if (samples.length > SAMPLES_MAX) samples.shift();
  }

  /** The 99th percentile of the slowest verb and kind, in milliseconds; 0 when nothing was answered of late. */
  slowestP99Ms(nowMs: number): number {
    return Math.max(0, ...[...this.#samples.values()].map((samples) => p99Ms(samples, nowMs)));
  }
}

function p99Ms(samples: readonly Sample[], nowMs: number): number {
  const recent = samples.filter(({ endedAtMs }) => nowMs - endedAtMs <= RECENT_MS);
  const latencies = recent.map(({ latencyMs }) => latencyMs).toSorted((left, right) => left - right);
  return latencies[Math.ceil(latencies.length * PERCENTILE) - 1] ?? 0;
}

/**
 * Whether a read is too old at `nowMs` to write on it. It may be a second old, or a few times as old as requests take
 * now; latency alone makes it no older than `graceMs`, the grace period of a node.
 */
export function isTooOld(readAtMs: number, nowMs: number, latencies: RecentLatencies, graceMs: number): boolean {
  const ageMs = nowMs - readAtMs;
  return ageMs > READ_AGE_MAX_MS && ageMs > Math.min(REQUESTS_OF_AGE * latencies.slowestP99Ms(nowMs), graceMs);
}
