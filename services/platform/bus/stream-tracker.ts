/** Decides from its position whether a message is the next of its stream. */
import type { StreamPosition } from "../../../protocols/frame.ts";

/**
 * How a message relates to the earlier ones of its stream: the first or the next one, a new one after missing ones, one
 * received already, or one older than the last.
 */
export type ArrivalOrder = "next" | "gap" | "duplicate" | "out-of-order";

/**
 * A lower epoch is a late message of an earlier run of its publisher, unless the later run has been silent for this
 * long: then the publisher restarted with its wall clock set back.
 */
export const EPOCH_QUIET_MS = 10_000;

/** A stream silent for this long may be forgotten, because its publisher is gone. */
export const STREAM_FORGET_MS = 3_600_000;

/**
 * The most streams that one subscription tracks: more than a large fleet has. A sender can forge sources, so beyond it
 * the streams silent the longest are forgotten; that only hides their duplicates and gaps.
 */
export const STREAMS_MAX = 8192;

/** A sweep for streams to forget runs at this number of streams, and each time the number has doubled. */
const STREAMS_BEFORE_SWEEP = 1024;

interface StreamRecord {
  epoch: number;
  sequence: number;
  atMs: number;
}

/** The last position received of each stream of one subscription. */
export class StreamTracker {
  readonly #streams = new Map<string, StreamRecord>();
  #sweepAt = STREAMS_BEFORE_SWEEP;

  get size(): number {
    return this.#streams.size;
  }

  /** Orders a message and keeps its position; `nowMs` is on the monotonic clock. */
  arrive(position: StreamPosition, nowMs: number): ArrivalOrder {
    const { stream, epoch, sequence } = position;
    const last = this.#streams.get(stream);
    if (last === undefined) {
      this.#sweep(nowMs);
      this.#streams.set(stream, { epoch, sequence, atMs: nowMs });
      return "next";
    }
    const arrival = orderOf(last, position, nowMs);
    if (arrival === "next" || arrival === "gap") {
      last.epoch = epoch;
      last.sequence = sequence;
      last.atMs = nowMs;
    }
    return arrival;
  }

  #sweep(nowMs: number): void {
    if (this.#streams.size < this.#sweepAt) return;
    for (const [stream, { atMs }] of this.#streams) {
      if (nowMs - atMs > STREAM_FORGET_MS) this.#streams.delete(stream);
    }
    if (this.#streams.size >= STREAMS_MAX) this.#forgetHalf();
    this.#sweepAt = Math.min(STREAMS_MAX, Math.max(STREAMS_BEFORE_SWEEP, this.#streams.size * 2));
  }

  #forgetHalf(): void {
    const byAge = [...this.#streams].sort(([, left], [, right]) => left.atMs - right.atMs);
    for (const [stream] of byAge.slice(0, STREAMS_MAX / 2)) this.#streams.delete(stream);
  }
}

function orderOf(last: StreamRecord, { epoch, sequence }: StreamPosition, nowMs: number): ArrivalOrder {
  if (epoch === last.epoch) {
    if (sequence > last.sequence) return sequence === last.sequence + 1 ? "next" : "gap";
    return sequence === last.sequence ? "duplicate" : "out-of-order";
  }
  if (epoch < last.epoch && nowMs - last.atMs < EPOCH_QUIET_MS) return "out-of-order";
  return sequence === 1 ? "next" : "gap";
}
