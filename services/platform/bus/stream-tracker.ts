/** Judges by its position whether a message is the next of its stream. It sees positions only, never contents. */
import type { StreamPosition } from "../../../protocols/frame.ts";

/** How a message stands to those of its stream that came before. */
export type ArrivalOrder =
  /** The first one heard, or the one right after the last. */
  | "next"
  /** New, but some before it went missing. */
  | "gap"
  /** Heard already. */
  | "duplicate"
  /** Older than one that was heard. */
  | "out-of-order";

/**
 * A lower epoch is a late message of an earlier life of its publisher, unless the later life has been silent for this
 * long: then the publisher was restarted with its wall clock set back.
 */
export const EPOCH_QUIET_MS = 10_000;

/** A stream unheard for this long may be forgotten, because its publisher is gone. */
export const STREAM_FORGET_MS = 3_600_000;

/**
 * Most streams of one subscription that are known at once: more than a large fleet has. A sender may invent sources, so
 * beyond it those heard longest ago are forgotten; nothing but their doubled messages and gaps goes unnoticed by it.
 */
export const STREAMS_MAX = 8192;

/** From this many streams on those to be forgotten are looked for, again each time the number has doubled. */
const STREAMS_BEFORE_SWEEP = 1024;

interface StreamRecord {
  epoch: number;
  sequence: number;
  atMs: number;
}

/** The last position heard of each stream of one subscription. */
export class StreamTracker {
  readonly #streams = new Map<string, StreamRecord>();
  #sweepAt = STREAMS_BEFORE_SWEEP;

  get size(): number {
    return this.#streams.size;
  }

  /** Judges a message and remembers its position; `nowMs` is on the monotonic clock. */
  arrive(position: StreamPosition, nowMs: number): ArrivalOrder {
    const { stream, epoch, sequence } = position;
    const heard = this.#streams.get(stream);
    if (heard === undefined) {
      this.#sweep(nowMs);
      this.#streams.set(stream, { epoch, sequence, atMs: nowMs });
      return "next";
    }
    const arrival = judge(heard, position, nowMs);
    if (arrival === "next" || arrival === "gap") {
      heard.epoch = epoch;
      heard.sequence = sequence;
      heard.atMs = nowMs;
    }
    return arrival;
  }

  #sweep(nowMs: number): void {
    if (this.#streams.size < this.#sweepAt) return;
    for (const [stream, heard] of this.#streams) {
      if (nowMs - heard.atMs > STREAM_FORGET_MS) this.#streams.delete(stream);
    }
    if (this.#streams.size >= STREAMS_MAX) this.#forgetHalf();
    this.#sweepAt = Math.min(STREAMS_MAX, Math.max(STREAMS_BEFORE_SWEEP, this.#streams.size * 2));
  }

  #forgetHalf(): void {
    const byAge = [...this.#streams].sort(([, left], [, right]) => left.atMs - right.atMs);
    for (const [stream] of byAge.slice(0, STREAMS_MAX / 2)) this.#streams.delete(stream);
  }
}

function judge(heard: StreamRecord, { epoch, sequence }: StreamPosition, nowMs: number): ArrivalOrder {
  if (epoch === heard.epoch) {
    if (sequence > heard.sequence) return sequence === heard.sequence + 1 ? "next" : "gap";
    return sequence === heard.sequence ? "duplicate" : "out-of-order";
  }
  if (epoch < heard.epoch && nowMs - heard.atMs < EPOCH_QUIET_MS) return "out-of-order";
  return sequence === 1 ? "next" : "gap";
}
