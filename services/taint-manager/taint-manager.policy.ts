/** Decides from when a node's NoExecute taints count, which pods they concern, and what is to be written down. */
import type { ObservedNode, ObservedPod, Taint } from "../../protocols/objects.ts";
import { apiMicroTime, epochMsOf } from "../domain/api-time.ts";
import { lineageOf } from "../domain/taint-swap.ts";
import {
  type Eviction,
  hasCompleted,
  noExecuteTaints,
  type StandingTaint,
  type TaintLineage,
  taintName,
} from "../domain/toleration.ts";

/** One instant on both clocks of this process, in milliseconds. */
export interface Now {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Whether taints may evict a pod: not one that has completed, nor one that is on its way out already (L34). */
export function isEvictable(pod: ObservedPod): boolean {
  return pod.deletionAt === null && !hasCompleted(pod);
}

/** A wall-clock instant of the API on the monotonic clock, by how far away it is now. */
export function onMonotonic(instantAt: number, { monotonicMs, wallMs }: Now): number {
  return monotonicMs + (instantAt - wallMs);
}

/** What a shard's view says about the moments before a node's state came. */
export interface ViewHistory extends Now {
  /**
   * When taints that are new in this state had not been there yet, on the monotonic clock; minus infinity if unknown.
   */
  readonly absentMs: number;
  /**
   * Whether every change of the node has been seen: a taint that stood before and stands now has stood all the time.
   */
  readonly isUnbroken: boolean;
}

/** A NoExecute taint with its beginning on the monotonic clock, which decides, and on the API's own time line. */
export interface KnownTaint extends StandingTaint {
  readonly sinceAt: number;
  /** The latest beginning that this process can believe, on the monotonic clock: its own first sight of the taint. */
  readonly latestMs: number;
  /** Whether somebody has changed its stamp while it stood, or may have before this process began. */
  readonly isRestamped: boolean;
  readonly lineage?: TaintLineage & { readonly sinceAt: number; readonly secondSinceAt: number };
}

/**
 * By how much a stamp may lie outside the time in which its taint appeared and still be believed, in milliseconds. The
 * API cuts stamps to whole seconds, and no two clocks agree exactly.
 */
const STAMP_SLACK_MS = 1000;

/**
 * The NoExecute taints of a node with the instant each counts from. A taint known before keeps its instant, whatever
 * becomes of its stamp or of the wall clock. A new one counts from its `timeAdded`, which is believed between the last
 * sight of the node without the taint and the first with it; outside, the nearer of the two counts. Where that is
 * unknown, because the taint stood before this process began, the instant that is written down counts before the
 * stamp, and neither is believed from before the node was created.
 */
export function knownTaints(node: ObservedNode, known: readonly KnownTaint[], view: ViewHistory): KnownTaint[] {
  return noExecuteTaints(node.taints).map((taint) => {
    const before = known.find((each) => taintName(each.taint) === taintName(taint));
    const standing =
      before !== undefined && hasStood(before, taint, view)
        ? stillStanding(before, taint, node)
        : newTaint(taint, node, view);
    const lineage = lineageOf(taint, standing.sinceAt, node);
    return { ...standing, ...knownLineage(lineage, [standing, ...known], view) };
  });
}

/**
 * Whether a taint is the one that stood before. After a break in the sight another stamp means another taint, unless
 * somebody keeps changing the stamp.
 */
function hasStood(before: KnownTaint, taint: Taint, { isUnbroken }: ViewHistory): boolean {
  return isUnbroken || before.isRestamped || before.taint.timeAdded === taint.timeAdded;
}

/**
 * A taint that was known before. Of two instants that were written down the later counts: the pod-writer goes by it.
 */
function stillStanding(before: KnownTaint, taint: Taint, node: ObservedNode): KnownTaint {
  const { since, sinceAt, latestMs } = before;
  const isRestamped = before.isRestamped || before.taint.timeAdded !== taint.timeAdded;
  const writtenAt = node.taintsSeenAt?.[taintName(taint)] ?? sinceAt;
  const laterMs = writtenAt - sinceAt;
  const isLater = laterMs > 0 && since + laterMs <= latestMs + STAMP_SLACK_MS;
  const counted = isLater ? { since: since + laterMs, sinceAt: writtenAt } : { since, sinceAt };
  return { taint, ...counted, latestMs, isRestamped };
}

function newTaint(taint: Taint, node: ObservedNode, view: ViewHistory): KnownTaint {
  const { monotonicMs, wallMs, absentMs } = view;
  const stampAt = epochMsOf(taint.timeAdded);
  // What is written down about a taint that was seen to appear is left of an earlier one of its name.
  const writtenAt = absentMs === Number.NEGATIVE_INFINITY ? node.taintsSeenAt?.[taintName(taint)] : undefined;
  const recordedAt = writtenAt ?? stampAt;
  const isRestamped = stampAt !== null && writtenAt !== undefined;
  const recordedMs = recordedAt === null ? monotonicMs : onMonotonic(recordedAt, view);
  // A node that was created later than now, after a clock was set back, tells nothing by that.
  const createdMs = node.createdAt > wallMs ? Number.NEGATIVE_INFINITY : onMonotonic(node.createdAt, view);
  const earliestMs = Math.max(absentMs, createdMs);
  const sinceMs = Math.min(Math.max(recordedMs, earliestMs), monotonicMs);
  if (recordedAt !== null && Math.abs(recordedMs - sinceMs) <= STAMP_SLACK_MS) {
    return { taint, since: recordedMs, sinceAt: recordedAt, latestMs: monotonicMs, isRestamped };
  }
  // A whole millisecond: finer than it is written down, it would never be read again as the same.
  const sinceAt = Math.ceil(wallMs - (monotonicMs - sinceMs));
  return { taint, since: onMonotonic(sinceAt, view), sinceAt, latestMs: monotonicMs, isRestamped };
}

/** A line as it is written down now; instants that were known before keep their place on this process's own clock. */
function knownLineage(
  lineage: TaintLineage | null,
  known: readonly KnownTaint[],
  now: Now,
): Pick<KnownTaint, "lineage"> {
  if (lineage === null) return {};
  const instants = known.flatMap(({ taint, since, sinceAt, lineage: before }) => [
    [sinceAt, since] as const,
    [epochMsOf(taint.timeAdded), since] as const,
    ...(before === undefined ? [] : [[before.sinceAt, before.since] as const]),
    ...(before === undefined ? [] : [[before.secondSinceAt, before.secondSince] as const]),
  ]);
  const own = (at: number): number => instants.find(([knownAt]) => knownAt === at)?.[1] ?? onMonotonic(at, now);
  const [sinceAt, secondSinceAt] = [lineage.since, lineage.secondSince];
  return { lineage: { ...lineage, since: own(sinceAt), secondSince: own(secondSinceAt), sinceAt, secondSinceAt } };
}

/**
 * When a pod was bound, on the monotonic clock, and never in the future. Binding and taints are stamped on the API's
 * time line, so the order of their stamps counts: our clocks may have been set or have stood still between two sights,
 * and would then put a pod that was bound after a taint before it. A pod keeps its distance from the last taint that
 * stood before it.
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

/** The same taints on the API's own time line, on which a deadline can be named and compared by anybody. */
export function onApiTime(known: readonly KnownTaint[]): StandingTaint[] {
  return known.map(({ taint, sinceAt, lineage }) => ({
    taint,
    since: sinceAt,
    ...(lineage === undefined
      ? {}
      : { lineage: { ...lineage, since: lineage.sinceAt, secondSince: lineage.secondSinceAt } }),
  }));
}

/**
 * What should be written down about a node: the instant from which each taint counts whose stamp does not say it, when
 * a countdown rests on it or it is written down already. Null when that is what the API shows.
 */
export function startsToWrite(
  node: ObservedNode,
  known: readonly KnownTaint[],
  countedTaints: () => ReadonlySet<Taint>,
): Readonly<Record<string, string>> | null {
  const written = node.taintsSeenAt ?? {};
  const unstamped = known.filter((each) => each.isRestamped || epochMsOf(each.taint.timeAdded) !== each.sinceAt);
  const isNamed = ({ taint }: KnownTaint) => Object.hasOwn(written, taintName(taint));
  const isWritten = ({ taint, sinceAt }: KnownTaint) => written[taintName(taint)] === sinceAt;
  // To know what counts, every sentence on the node is looked at: only when something may be left to write.
  const counted = unstamped.every(isNamed) ? new Set<Taint>() : countedTaints();
  const wanted = unstamped.filter((known) => counted.has(known.taint) || isNamed(known));
  const isExact = node.taintsSeenStale !== true && wanted.every(isWritten);
  if (isExact && wanted.length === Object.keys(written).length) return null;
  return Object.fromEntries(wanted.map(({ taint, sinceAt }) => [taintName(taint), apiMicroTime(sinceAt)]));
}

/** Whether two evictions have the same cause; when that is so and both are overdue, nothing has changed. */
export function isSameCause(left: Pick<Eviction, "taint" | "tolerationSeconds">, right: Eviction): boolean {
  return taintName(left.taint) === taintName(right.taint) && left.tolerationSeconds === right.tolerationSeconds;
}
