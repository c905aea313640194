/** Decides when each NoExecute taint of a node starts to count, which pods it may evict, and which starts to record. */
import type { ObservedNode, ObservedPod, Taint } from "../../protocols/objects.ts";
import { apiMicroTime, epochMsOf } from "../domain/api-time.ts";
import { lineageOf, taintStartAt } from "../domain/taint-swap.ts";
import {
  type CountedTaint,
  type Eviction,
  hasCompleted,
  noExecuteTaints,
  type TaintLineage,
  taintName,
} from "../domain/toleration.ts";

/** One instant on both clocks of this process, in milliseconds. */
export interface Now {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Whether taints may evict a pod: not if it has completed or is terminating (L34). */
export function isEvictable(pod: ObservedPod): boolean {
  return pod.deletionAt === null && !hasCompleted(pod);
}

/** A wall-clock instant of the API on the monotonic clock, by its distance from now. */
export function onMonotonic(instantAt: number, { monotonicMs, wallMs }: Now): number {
  return monotonicMs + (instantAt - wallMs);
}

/** What a shard's view shows of the time before a node's present state. */
export interface ViewHistory extends Now {
  /** When new taints of this state were still absent, on the monotonic clock; minus infinity if unknown. */
  readonly absentMs: number;
  /** Whether every change of the node was received, so that a taint present before and now was never removed. */
  readonly isUnbroken: boolean;
}

/** A NoExecute taint with its start: `since` on the monotonic clock, which counts, `sinceAt` on the API's clock. */
export interface KnownTaint extends CountedTaint {
  readonly sinceAt: number;
  /** The latest possible start: when this process first saw the taint, on the monotonic clock. */
  readonly latestMs: number;
  /** Whether its `timeAdded` changed while it was present, or may have before this process started. */
  readonly isRestamped: boolean;
  /** Whether `sinceAt` was taken from this process's clock, not from a stamp or a record. */
  readonly isOwnTime: boolean;
  readonly lineage?: TaintLineage & { readonly sinceAt: number; readonly secondSinceAt: number };
}

/**
 * How far `timeAdded` may lie outside the interval in which its taint appeared and still be accepted, in milliseconds.
 * The API truncates it to whole seconds, and no two clocks agree exactly.
 */
const STAMP_SLACK_MS = 1000;

/**
 * How long after its first observation a start by this process's clock follows a correction of that clock, in
 * milliseconds: a machine that was suspended learns the time with the first answer of the API server.
 */
const CORRECTION_MS = 60_000;

/**
 * How long after its first observation a start by this process's clock is not recorded if the API shows a later one, in
 * milliseconds. Either that one or this clock is wrong, and the API server answers every 3 s, which corrects the clock.
 */
const CONTRADICTED_MS = 10_000;

/**
 * The NoExecute taints of a node, each with its start. A known taint keeps its start, even if its stamp or the wall
 * clock changes. A new taint starts at its `timeAdded`, limited to the interval between the last state without it and
 * the first with it. Example: a state without the taint was seen at second 100, one with it at second 103. A stamp of
 * second 102 counts, a stamp of second 90 makes the taint start at second 100. If the taint may be older than this
 * process, a recorded start takes precedence over the stamp, and neither may lie before the creation of the node.
 */
export function knownTaints(node: ObservedNode, known: readonly KnownTaint[], view: ViewHistory): KnownTaint[] {
  return noExecuteTaints(node.taints).map((taint) => {
    const before = known.find((each) => taintName(each.taint) === taintName(taint));
    const started =
      before !== undefined && hasRemained(before, taint, view)
        ? remainingTaint(corrected(before, view), taint, node)
        : newTaint(taint, node, view);
    const lineage = lineageOf(taint, started.sinceAt, node);
    return { ...started, ...knownLineage(lineage, [started, ...known], view) };
  });
}

/**
 * Whether a taint is the known one. After a gap a changed stamp means a new taint, also of one that has been stamped
 * again before: the taint may have been removed and added again, and a countdown may be late but never early.
 */
function hasRemained(before: KnownTaint, taint: Taint, { isUnbroken }: ViewHistory): boolean {
  return isUnbroken || before.taint.timeAdded === taint.timeAdded;
}

/**
 * The start of a taint after a correction of the clock. If the clock was behind, the start is later on the API's clock.
 * If it was ahead, the start stays, because a countdown may be late but never early.
 */
function corrected(known: KnownTaint, { monotonicMs, wallMs }: Now): KnownTaint {
  const { since, sinceAt, latestMs, isOwnTime } = known;
  const nowAt = Math.ceil(wallMs - (monotonicMs - since));
  const isBehind = isOwnTime && monotonicMs - latestMs <= CORRECTION_MS && nowAt - sinceAt > STAMP_SLACK_MS;
  return isBehind ? { ...known, sinceAt: nowAt } : known;
}

/** Whether a start has another instant on the API's clock than before, because the clock it came from was behind. */
export function isRedated(before: readonly KnownTaint[], now: readonly KnownTaint[]): boolean {
  return now.some(({ taint, since, sinceAt }) =>
    before.some(
      (each) => taintName(each.taint) === taintName(taint) && each.since === since && each.sinceAt !== sinceAt,
    ),
  );
}

/** A taint known before. A later start that is recorded counts, because the pod-writer uses the record. */
function remainingTaint(before: KnownTaint, taint: Taint, node: ObservedNode): KnownTaint {
  const { since, sinceAt, latestMs, isOwnTime } = before;
  const isRestamped = before.isRestamped || before.taint.timeAdded !== taint.timeAdded;
  const writtenAt = node.taintsSeenAt?.[taintName(taint)] ?? sinceAt;
  const laterMs = writtenAt - sinceAt;
  const isLater = laterMs > 0 && since + laterMs <= latestMs + STAMP_SLACK_MS;
  const counted = isLater ? { since: since + laterMs, sinceAt: writtenAt } : { since, sinceAt };
  return { taint, ...counted, latestMs, isRestamped, isOwnTime };
}

function newTaint(taint: Taint, node: ObservedNode, view: ViewHistory): KnownTaint {
  const { monotonicMs, wallMs, absentMs } = view;
  const stampAt = epochMsOf(taint.timeAdded);
  // A record about a taint that was seen to appear is left over from an earlier taint of that name.
  const writtenAt = absentMs === Number.NEGATIVE_INFINITY ? node.taintsSeenAt?.[taintName(taint)] : undefined;
  const recordedAt = writtenAt ?? stampAt;
  const isRestamped = stampAt !== null && writtenAt !== undefined;
  const recordedMs = recordedAt === null ? monotonicMs : onMonotonic(recordedAt, view);
  // A creation in the future means that a clock was set back, so it is no lower bound.
  const createdMs = node.createdAt > wallMs ? Number.NEGATIVE_INFINITY : onMonotonic(node.createdAt, view);
  const earliestMs = Math.max(absentMs, createdMs);
  const sinceMs = Math.min(Math.max(recordedMs, earliestMs), monotonicMs);
  if (recordedAt !== null && Math.abs(recordedMs - sinceMs) <= STAMP_SLACK_MS) {
    return { taint, since: recordedMs, sinceAt: recordedAt, latestMs: monotonicMs, isRestamped, isOwnTime: false };
  }
  // Whole milliseconds, so that the start reads back from its record unchanged.
  const sinceAt = Math.ceil(wallMs - (monotonicMs - sinceMs));
  return { taint, since: onMonotonic(sinceAt, view), sinceAt, latestMs: monotonicMs, isRestamped, isOwnTime: true };
}

/** The lineage as recorded; instants known before keep their place on the monotonic clock. */
function knownLineage(
  lineage: TaintLineage | null,
  known: readonly KnownTaint[],
  now: Now,
): Pick<KnownTaint, "lineage"> {
  if (lineage === null) return {};
  const instants = known.flatMap(({ taint, since, sinceAt, lineage: before }) => [
    [sinceAt, since] as const,
    [epochMsOf(taint.timeAdded), since] as const,
    ...(before === undefined
      ? []
      : [[before.sinceAt, before.since] as const, [before.secondSinceAt, before.secondSince] as const]),
  ]);
  const own = (at: number): number => instants.find(([knownAt]) => knownAt === at)?.[1] ?? onMonotonic(at, now);
  const [sinceAt, secondSinceAt] = [lineage.since, lineage.secondSince];
  return { lineage: { ...lineage, since: own(sinceAt), secondSince: own(secondSinceAt), sinceAt, secondSinceAt } };
}

/**
 * When a pod was bound, on the monotonic clock, never in the future. A pod keeps its distance on the API's clock from
 * the last taint before it. Example: a taint starts at 10:00:00, and a pod is bound at 10:00:30. It counts from 30 s
 * after the taint on the monotonic clock, even if this machine was suspended in between. Without that rule a pod that
 * was bound after a taint may be dated before it.
 */
export function boundMsOf(boundAt: number, known: readonly KnownTaint[], now: Now): number {
  const starts = known.flatMap(({ since, sinceAt, lineage }) => [
    { since, sinceAt },
    ...(lineage === undefined ? [] : [lineage, { since: lineage.secondSince, sinceAt: lineage.secondSinceAt }]),
  ]);
  const earlier = starts.filter(({ sinceAt }) => sinceAt <= boundAt);
  if (earlier.length === 0) {
    return Math.min(onMonotonic(boundAt, now), now.monotonicMs, ...starts.map(({ since }) => since));
  }
  const last = earlier.reduce((left, right) => (right.sinceAt > left.sinceAt ? right : left));
  return Math.min(last.since + (boundAt - last.sinceAt), now.monotonicMs);
}

/** The same taints on the API's clock, on which all processes can compare deadlines. */
export function onApiTime(known: readonly KnownTaint[]): CountedTaint[] {
  return known.map(({ taint, sinceAt, lineage }) => ({
    taint,
    since: sinceAt,
    ...(lineage === undefined
      ? {}
      : { lineage: { ...lineage, since: lineage.sinceAt, secondSince: lineage.secondSinceAt } }),
  }));
}

/**
 * The starts to record on a node, by taint: those that differ from the taint's stamp, if a countdown depends on them or
 * they are recorded already. Null when the node's record is exactly that. A contradicted start waits, because the next
 * owner would evict by it; what is recorded stays meanwhile.
 */
export function startsToWrite(
  node: ObservedNode,
  known: readonly KnownTaint[],
  { countedTaints, nowMs }: { readonly countedTaints: () => ReadonlySet<Taint>; readonly nowMs: number },
): Readonly<Record<string, string>> | null {
  const written = node.taintsSeenAt ?? {};
  const starts = known.flatMap((each) => {
    const sinceAt = contradictedForMs(each, node, nowMs) > 0 ? written[taintName(each.taint)] : each.sinceAt;
    return sinceAt === undefined ? [] : [{ ...each, sinceAt }];
  });
  const unstamped = starts.filter((each) => each.isRestamped || epochMsOf(each.taint.timeAdded) !== each.sinceAt);
  const isNamed = ({ taint }: KnownTaint) => Object.hasOwn(written, taintName(taint));
  const isWritten = ({ taint, sinceAt }: KnownTaint) => written[taintName(taint)] === sinceAt;
  // countedTaints goes through every schedule of the node, so it is called only if there may be something to write.
  const counted = unstamped.every(isNamed) ? new Set<Taint>() : countedTaints();
  const wanted = unstamped.filter((known) => counted.has(known.taint) || isNamed(known));
  const isExact = node.taintsSeenStale !== true && wanted.every(isWritten);
  if (isExact && wanted.length === Object.keys(written).length) return null;
  return Object.fromEntries(wanted.map(({ taint, sinceAt }) => [taintName(taint), apiMicroTime(sinceAt)]));
}

/**
 * How long a start by this process's clock is not recorded yet, in milliseconds: it lies before the one that the API
 * shows, which is in the future by that clock. Zero or less if it may be recorded.
 */
export function contradictedForMs(known: KnownTaint, node: ObservedNode, nowMs: number): number {
  const { taint, sinceAt, latestMs, isOwnTime } = known;
  const isContradicted = isOwnTime && (taintStartAt(taint, node) ?? sinceAt) > sinceAt;
  return isContradicted ? latestMs + CONTRADICTED_MS - nowMs : 0;
}

/** Whether two evictions have the same cause: if so and both are due, nothing has changed. */
export function isSameCause(left: Omit<Eviction, "at">, right: Eviction): boolean {
  const isSameToleration =
    left.tolerationSeconds === right.tolerationSeconds && left.toleratedTaint?.key === right.toleratedTaint?.key;
  return isSameToleration && taintName(left.taint) === taintName(right.taint);
}
