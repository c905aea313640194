/**
 * Frozen time: while nodes are frozen, countdowns are paused and no pod is evicted. A freeze adds its length to each
 * countdown that it meets, so the remaining time is the same afterwards. Freezes may overlap and touch; time counts
 * once. Example: a countdown of 300 s starts at 0 s. Freezes from 100 s to 200 s and from 150 s to 250 s pause it for
 * 150 s, so it ends at 450 s. Instants are milliseconds on any clock of the caller. It reads no clock.
 */
import type { FrozenInterval } from "../../../protocols/policy-set.ts";

/** Intervals in order, without overlaps and gaps of nothing between them; empty ones are dropped. */
export function mergedIntervals(intervals: readonly FrozenInterval[]): FrozenInterval[] {
  const merged: FrozenInterval[] = [];
  const sorted = intervals
    .filter((interval) => endOf(interval) > interval.fromAt)
    .toSorted((left, right) => left.fromAt - right.fromAt);
  for (const interval of sorted) {
    const last = merged.at(-1);
    if (last === undefined || endOf(last) < interval.fromAt) merged.push(interval);
    else if (endOf(interval) > endOf(last)) merged[merged.length - 1] = { fromAt: last.fromAt, toAt: interval.toAt };
  }
  return merged;
}

/** The interval that an instant lies in; null when it is not frozen. The intervals are merged. */
export function frozenAt(intervals: readonly FrozenInterval[], at: number): FrozenInterval | null {
  return intervals.find((interval) => interval.fromAt <= at && at < endOf(interval)) ?? null;
}

/**
 * When a countdown ends that starts at `startAt`, lasts `durationMs` and is paused while frozen: infinity when it
 * reaches a freeze without an end. A countdown of nothing ends when it starts, or with the freeze that it starts in.
 * The intervals are merged.
 */
export function countdownEndAt(startAt: number, durationMs: number, intervals: readonly FrozenInterval[]): number {
  let endAt = startAt + durationMs;
  for (const interval of intervals) {
    // A countdown that ends as a freeze begins is over, unless it had not run at all.
    if (interval.fromAt > endAt || (interval.fromAt === endAt && endAt > startAt)) break;
    endAt += Math.max(0, endOf(interval) - Math.max(interval.fromAt, startAt));
  }
  return endAt;
}

/**
 * When a countdown began that ends at `endAt`, the opposite of `countdownEndAt`: the end of a freeze for one that began
 * in it. The intervals are merged.
 */
export function countdownStartAt(endAt: number, durationMs: number, intervals: readonly FrozenInterval[]): number {
  let ranFromAt = endAt;
  let leftMs = durationMs;
  for (const interval of intervals.toReversed()) {
    if (endOf(interval) > ranFromAt) continue;
    if (ranFromAt - endOf(interval) >= leftMs) break;
    leftMs -= ranFromAt - endOf(interval);
    ranFromAt = interval.fromAt;
  }
  return ranFromAt - leftMs;
}

/**
 * Intervals as one list of at most `most`: the two with the shortest time between them become one until the list fits.
 */
export function boundedIntervals(intervals: readonly FrozenInterval[], most: number): FrozenInterval[] {
  const bounded = mergedIntervals(intervals);
  while (bounded.length > most) {
    let closest = 1;
    for (let index = 2; index < bounded.length; index++) {
      if (gapBefore(bounded, index) < gapBefore(bounded, closest)) closest = index;
    }
    const [left, right] = [bounded[closest - 1], bounded[closest]];
    if (left === undefined || right === undefined) break;
    bounded.splice(closest - 1, 2, { fromAt: left.fromAt, toAt: right.toAt });
  }
  return bounded;
}

/** Intervals on another clock, which is ahead by so much. */
export function onClock(intervals: readonly FrozenInterval[], aheadMs: number): readonly FrozenInterval[] {
  return intervals.map(({ fromAt, toAt }) => ({
    fromAt: fromAt + aheadMs,
    toAt: toAt === null ? null : toAt + aheadMs,
  }));
}

function gapBefore(intervals: readonly FrozenInterval[], index: number): number {
  const [left, right] = [intervals[index - 1], intervals[index]];
  return left === undefined || right === undefined ? Number.POSITIVE_INFINITY : right.fromAt - endOf(left);
}

function endOf({ toAt }: FrozenInterval): number {
  return toAt ?? Number.POSITIVE_INFINITY;
}
