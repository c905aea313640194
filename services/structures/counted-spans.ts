/**
 * Counts of what happened, for a list that may not grow: what does not fit with its name is counted by when it was. Of
 * 170 nodes of an hour 128 have names, and the 42 before them are, say, "12 from 09:00 to 09:02" and so on. Spans are
 * joined and not dropped, so memory is bounded and no count shrinks. Instants are on any clock of the caller.
 */

/** So many of them, the earliest at `fromAt` and the latest at `toAt`. */
export interface CountedSpan {
  readonly fromAt: number;
  readonly toAt: number;
  readonly count: number;
}

/** How many there are. */
export function countOf(spans: readonly CountedSpan[]): number {
  return spans.reduce((sum, { count }) => sum + count, 0);
}

/**
 * Spans in order of their ends, at most `most` of them: those that end in the same `most`-th part of the total time
 * become one. A span counts until its last instant has passed, so each of its events counts for at most one such part
 * too long.
 */
export function boundedSpans(spans: readonly CountedSpan[], most: number): readonly CountedSpan[] {
  const sorted = spans.filter(({ count }) => count > 0).toSorted((left, right) => left.toAt - right.toAt);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined || sorted.length <= most) return sorted;
  const partLength = (last.toAt - first.toAt) / most;
  const partOf = ({ toAt }: CountedSpan): number =>
    partLength === 0 ? 0 : Math.min(most - 1, Math.floor((toAt - first.toAt) / partLength));
  return [...Map.groupBy(sorted, partOf).values()].map((part) => ({
    fromAt: Math.min(...part.map(({ fromAt }) => fromAt)),
    toAt: Math.max(...part.map(({ toAt }) => toAt)),
    count: countOf(part),
  }));
}
