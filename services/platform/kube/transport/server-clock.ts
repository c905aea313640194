/**
 * The clock of a process that talks to an API server. Its wall clock is the machine's own while that agrees with the
 * `Date` headers of the server's responses; otherwise it is the server's. So processes on machines with different
 * clocks share one time line, that of creationTimestamp.
 *
 * A response proves that the server's clock had the second of its `Date` at some moment between request and response.
 * That bounds how far the server's wall clock is ahead of our monotonic one; several responses narrow the bounds.
 */
import type { Clock, Log, Metrics, Timer, Wire } from "../../../../protocols/ports.ts";

/** `Date` is cut to whole seconds (RFC 9110, section 5.6.7). */
const DATE_RESOLUTION_MS = 1000;
/** The drift between two clocks as a share of elapsed time; NTP slews by at most this much. */
const DRIFT_SHARE = 0.0005;
/** A clock that is off by more than this is logged, in milliseconds. */
const REPORTED_MS = 2000;

/** The range of the server's wall clock minus our monotonic one, at an instant of the latter. */
interface Bounds {
  readonly lowMs: number;
  readonly highMs: number;
  readonly atMs: number;
}

/** The machine's clock, corrected by an API server's responses. */
export class ServerClock implements Clock {
  readonly #own: Clock;
  readonly #log: Log;
  readonly #gauge: ReturnType<Metrics["gauge"]> | null;
  #bounds: Bounds | null = null;
  #isOff = false;

  /** With `metrics` the difference of the clocks is shown there. */
  constructor(own: Clock, log: Log, metrics: Metrics | null = null) {
    this.#own = own;
    this.#log = log;
    const help =
      "How far this machine's clock is ahead of the API server's, whose time counts, in seconds; below 0 behind.";
    this.#gauge = metrics?.gauge({ name: "vigil_clock_ahead_seconds", help }) ?? null;
  }

  monotonicMs(): number {
    return this.#own.monotonicMs();
  }

  wallMs(): number {
    const [ownMs, nowMs] = [this.#own.wallMs(), this.monotonicMs()];
    if (this.#bounds === null) return ownMs;
    const { lowMs, highMs } = boundsAt(this.#bounds, nowMs);
    return Math.min(Math.max(ownMs, nowMs + lowMs), nowMs + highMs);
  }

  /** The machine's wall clock, which shows when the machine was suspended. */
  machineWallMs(): number {
    return this.#own.wallMs();
  }

  /** How far the machine's wall clock is ahead of the API server's, in milliseconds; 0 while they agree. */
  machineAheadMs(): number {
    return Math.round(this.#own.wallMs() - this.wallMs());
  }

  after(delayMs: number, fire: () => void): Timer {
    return this.#own.after(delayMs, fire);
  }

  soon(run: () => void): void {
    this.#own.soon(run);
  }

  /** The given wire, with the time read from each response on it. */
  over(wire: Wire): Wire {
    return {
      send: (request, exchange) => {
        const sentMs = this.monotonicMs();
        return wire.send(request, {
          response: (status, headers) => {
            this.#onDate(headers.date, sentMs);
            exchange.response(status, headers);
          },
          data: (chunk, waitedMs) => exchange.data(chunk, waitedMs),
          end: () => exchange.end(),
          failed: (problem) => exchange.failed(problem),
        });
      },
    };
  }

  #onDate(date: string | undefined, sentMs: number): void {
    const dateMs = Date.parse(date ?? "");
    if (Number.isNaN(dateMs)) return;
    const atMs = this.monotonicMs();
    const seen = { lowMs: dateMs - atMs, highMs: dateMs + DATE_RESOLUTION_MS - sentMs, atMs };
    this.#bounds = this.#bounds === null ? seen : narrowed(boundsAt(this.#bounds, atMs), seen);
    this.#report();
  }

  #report(): void {
    const aheadMs = this.machineAheadMs();
    this.#gauge?.set(aheadMs / 1000);
    const isOff = Math.abs(aheadMs) > REPORTED_MS;
    if (isOff && !this.#isOff) {
      this.#log.warn("this machine's clock differs from the API server's, whose time counts: set it by NTP", {
        aheadMs,
      });
    }
    this.#isOff = isOff;
  }
}

function boundsAt({ lowMs, highMs, atMs }: Bounds, nowMs: number): Bounds {
  const driftMs = (nowMs - atMs) * DRIFT_SHARE;
  return { lowMs: lowMs - driftMs, highMs: highMs + driftMs, atMs: nowMs };
}

/** Contradicting bounds mean that a clock was set or the server is another one: the newest count. */
function narrowed(before: Bounds, seen: Bounds): Bounds {
  const lowMs = Math.max(before.lowMs, seen.lowMs);
  const highMs = Math.min(before.highMs, seen.highMs);
  return lowMs > highMs ? seen : { lowMs, highMs, atMs: seen.atMs };
}
