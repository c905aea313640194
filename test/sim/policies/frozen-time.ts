/**
 * How long countdowns have to be frozen, from the objects of the API alone. A request that names its instants is exact.
 * Any other freeze begins and ends up to a lag after its change, because only what Vigil can know counts. Example: with
 * a lag of 5 s, `paused` is set at second 100 and removed at 160; the freeze begins between 100 and 105 and ends
 * between 160 and 165. If Vigil may have forgotten a freeze, the least frozen time is without it and the most with it.
 * Vigil remembers a bounded number of past freezes of each scope: beyond it, the two closest become one (decision 8).
 */
import type { PolicySnapshot } from "./api-policies.ts";
import type { Pause } from "./policy-state.ts";

/** A time in which nodes were frozen, with the latest and the earliest instants of its beginning and its end. */
interface FrozenTime {
  readonly fromLeast: number;
  readonly fromMost: number;
  readonly toLeast: number;
  readonly toMost: number;
  /** Whether Vigil may have forgotten it. */
  readonly isUncertain: boolean;
}

interface Record extends FrozenTime {
  /** What the API says about it now; null once it is history. */
  readonly key: string | null;
  /** When the API last said something else about it. */
  readonly changedMs: number;
}

/** A request that ended this long ago has been remembered. */
const REMEMBERED_MS = 10_000;
/** The scope of all nodes. */
const EVERYWHERE = "";

/** The frozen time of each policy and of all nodes. Instants are on the wall clock. */
export class FrozenTimes {
  readonly #records = new Map<string, readonly Record[]>();
  readonly #lagMs: number;
  readonly #intervalsMax: number;

  /** `intervalsMax` is how many frozen intervals of a scope Vigil remembers. */
  constructor(lagMs: number, intervalsMax: number) {
    this.#lagMs = lagMs;
    this.#intervalsMax = intervalsMax;
  }

  /** Records what the API shows from now on. */
  onSnapshot({ fromMs, policies, everywhere }: PolicySnapshot): void {
    this.#update(EVERYWHERE, everywhere.map(keyed), fromMs);
    for (const scope of this.#records.keys()) {
      if (scope !== EVERYWHERE && !policies.has(scope)) this.#forget(scope, fromMs);
    }
    for (const [name, { pauses, isFrozenByMode }] of policies) {
      const byMode = isFrozenByMode ? [{ key: "mode", since: null, until: null }] : [];
      this.#update(name, [...pauses.map(keyed), ...byMode], fromMs);
    }
  }

  /** When nodes under these policies have been frozen in any case, by what every process has known since `knownMs`. */
  leastTimes(policies: readonly string[], knownMs: number): readonly (readonly [fromMs: number, toMs: number])[] {
    const sure = this.#of(policies).filter(({ isUncertain, changedMs }) => !isUncertain && changedMs <= knownMs);
    return sure.map(({ fromMost, toLeast }) => [fromMost, toLeast]);
  }

  /** When nodes under these policies have been frozen at most, as Vigil may remember it now. */
  mostTimes(policies: readonly string[], nowMs: number): readonly (readonly [fromMs: number, toMs: number])[] {
    return [EVERYWHERE, ...policies].flatMap((scope) => {
      const records = this.#records.get(scope) ?? [];
      return [...records.map(({ fromLeast, toMost }) => [fromLeast, toMost] as const), ...this.#joined(records, nowMs)];
    });
  }

  /** The times between past freezes of a scope over which Vigil may have joined them, because there are too many. */
  #joined(records: readonly Record[], nowMs: number): readonly (readonly [fromMs: number, toMs: number])[] {
    const frozen = records.filter(({ fromLeast, toMost }) => toMost > fromLeast);
    const past = frozen.filter(({ toLeast }) => toLeast <= nowMs);
    // Up to half of the list is for freezes that are not over.
    const ahead = frozen.filter(({ toMost }) => toMost > nowMs - this.#lagMs).length;
    const rememberedMax = this.#intervalsMax - Math.min(Math.floor(this.#intervalsMax / 2), ahead);
    const gaps = gapsBetween(past);
    const isJoined = ({ leastMs }: Gap): boolean =>
      gaps.filter(({ mostMs }) => mostMs < leastMs).length < past.length - rememberedMax;
    return gaps.filter(isJoined).map(({ fromMs, toMs }) => [fromMs, toMs]);
  }

  #of(policies: readonly string[]): readonly Record[] {
    return [EVERYWHERE, ...policies].flatMap((scope) => this.#records.get(scope) ?? []);
  }

  #update(scope: string, declared: readonly (Omit<Pause, "name"> & { readonly key: string })[], nowMs: number): void {
    const known = this.#records.get(scope) ?? [];
    const kept = known.map((record) => {
      const present = declared.find(({ key }) => key === record.key);
      if (record.key === null) return record;
      if (present === undefined) return this.#withdrawn(record, nowMs);
      const toLeast = present.until ?? Infinity;
      // The end of a request without a beginning counts when it was planned, or else once it is seen.
      const isLate = present.since === null && toLeast < nowMs + this.#lagMs && toLeast !== record.toLeast;
      const changedMs = toLeast === record.toLeast ? record.changedMs : nowMs;
      return {
        ...record,
        changedMs,
        toLeast,
        toMost: isLate ? toLeast + this.#lagMs : Math.max(toLeast, sameEnd(record, toLeast)),
      };
    });
    const added = declared
      .filter(({ key }) => !known.some((record) => record.key === key))
      .map(({ key, since, until }): Record => {
        const fromLeast = since ?? nowMs;
        const to = until ?? Infinity;
        return {
          key,
          changedMs: nowMs,
          fromLeast,
          fromMost: since ?? nowMs + this.#lagMs,
          toLeast: to,
          toMost: to,
          isUncertain: false,
        };
      });
    this.#records.set(scope, [...kept, ...added]);
  }

  /** A request is no longer there: it ends when Vigil sees that, unless it has ended before. */
  #withdrawn(record: Record, nowMs: number): Record {
    if (record.toLeast <= nowMs - REMEMBERED_MS) return { ...record, key: null };
    const toLeast = Math.min(record.toLeast, nowMs);
    const toMost = Math.min(record.toMost, nowMs + this.#lagMs);
    const isUncertain = record.isUncertain || record.fromMost >= nowMs - this.#lagMs || record.toMost <= nowMs;
    return { ...record, key: null, toLeast, toMost, isUncertain };
  }

  #forget(scope: string, nowMs: number): void {
    const records = (this.#records.get(scope) ?? []).map((record) => {
      return { ...record, key: null, toMost: Math.min(record.toMost, nowMs + this.#lagMs), isUncertain: true };
    });
    this.#records.set(scope, records);
  }
}

/** The time between two freezes, and how long it may be to Vigil. */
interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
  readonly leastMs: number;
  /** Infinite where one of the freezes may be forgotten: then it is part of a longer one. */
  readonly mostMs: number;
}

function gapsBetween(records: readonly FrozenTime[]): readonly Gap[] {
  const [first, ...later] = records.toSorted((left, right) => left.fromLeast - right.fromLeast);
  if (first === undefined) return [];
  let before: FrozenTime = first;
  return later.map((after) => {
    const [fromMs, toMs] = [before.toMost, Math.max(before.toMost, after.fromLeast)];
    const isUncertain = before.isUncertain || after.isUncertain;
    const mostMs = isUncertain ? Number.POSITIVE_INFINITY : Math.max(0, after.fromMost - before.toLeast);
    const [toLeast, toMost] = [Math.max(before.toLeast, after.toLeast), Math.max(before.toMost, after.toMost)];
    before = { ...after, toLeast, toMost };
    return { fromMs, toMs, leastMs: toMs - fromMs, mostMs };
  });
}

/** The latest end of a request with an unchanged end. */
function sameEnd({ toLeast, toMost }: FrozenTime, endAt: number): number {
  return toLeast === endAt ? toMost : endAt;
}

function keyed({ name, since, until }: Pause): { key: string; since: number | null; until: number | null } {
  return { key: `${name} ${since}`, since, until };
}

/** When a countdown ends that is frozen in these times, which may overlap. */
export function endAfter(startAt: number, durationMs: number, times: readonly (readonly [number, number])[]): number {
  let [at, leftMs] = [startAt, durationMs];
  for (;;) {
    const within = times.find(([from, to]) => from <= at && at < to);
    if (within !== undefined) {
      at = within[1];
      if (at === Infinity) return at;
      continue;
    }
    const nextAt = Math.min(...times.map(([from, to]) => (from > at && to > from ? from : Infinity)));
    if (at + leftMs <= nextAt) return at + leftMs;
    leftMs -= nextAt - at;
    at = nextAt;
  }
}
