/** Decides from when a node's NoExecute taints count, which pods they concern, and what is to be written down. */
import type { ObservedNode, ObservedPod, Taint } from "../../protocols/objects.ts";
import { apiMicroTime, epochMsOf } from "../runtime/api-time.ts";
import { lineOf } from "../runtime/taint-swap.ts";
import {
  type Eviction,
  hasCompleted,
  noExecuteTaints,
  type StandingTaint,
  type TaintLine,
  taintName,
} from "../runtime/toleration.ts";

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

/** A NoExecute taint with its beginning on the monotonic clock, which decides, and on the API's own time line. */
export interface KnownTaint extends StandingTaint {
  readonly sinceAt: number;
  readonly line?: TaintLine & { readonly sinceAt: number; readonly secondSinceAt: number };
}

/**
 * The NoExecute taints of a node with the instant each counts from. A taint known before keeps its instant, so that a
 * step of the wall clock moves no countdown, unless a later first sight of it is written down. A new one counts from
 * its `timeAdded`; without one from its first sight, as it was written down by whoever saw it first, else from now.
 */
export function knownTaints(node: ObservedNode, known: readonly KnownTaint[], now: Now): KnownTaint[] {
  return noExecuteTaints(node.taints).map((taint) => {
    const same = known.find((before) => isSame(before.taint, taint));
    const standing = same === undefined ? newTaint(taint, node, now) : withLaterSight({ ...same, taint }, node);
    const { since, sinceAt } = standing;
    return { taint, since, sinceAt, ...knownLine(lineOf(taint, node), known, now) };
  });
}

function newTaint(taint: Taint, node: ObservedNode, now: Now): KnownTaint {
  const sinceAt = startOf(taint, node, now);
  return { taint, since: onMonotonic(sinceAt, now), sinceAt };
}

/** A line as it is written down now; instants that were known before keep their place on this process's own clock. */
function knownLine(line: TaintLine | null, known: readonly KnownTaint[], now: Now): Pick<KnownTaint, "line"> {
  if (line === null) return {};
  const instants = known.flatMap(({ since, sinceAt, line: before }) => [
    [sinceAt, since] as const,
    ...(before === undefined ? [] : [[before.sinceAt, before.since] as const]),
    ...(before === undefined ? [] : [[before.secondSinceAt, before.secondSince] as const]),
  ]);
  const own = (at: number): number => instants.find(([knownAt]) => knownAt === at)?.[1] ?? onMonotonic(at, now);
  const [sinceAt, secondSinceAt] = [line.since, line.secondSince];
  return { line: { ...line, since: own(sinceAt), secondSince: own(secondSinceAt), sinceAt, secondSinceAt } };
}

/**
 * A node without what is written down about taints that it did not carry before: that is left of earlier ones of their
 * names, and would have the new ones begin too early.
 */
export function withoutEarlierSights(node: ObservedNode, previous: ObservedNode): ObservedNode {
  if (node.taintsSeenAt === undefined) return node;
  const stood = new Set(previous.taints.map(taintName));
  const sights = Object.entries(node.taintsSeenAt).filter(([name]) => stood.has(name));
  return { ...node, taintsSeenAt: Object.fromEntries(sights) };
}

/** The same taints on the API's own time line, on which a deadline can be named and compared by anybody. */
export function onApiTime(known: readonly KnownTaint[]): StandingTaint[] {
  return known.map(({ taint, sinceAt, line }) => ({
    taint,
    since: sinceAt,
    ...(line === undefined ? {} : { line: { ...line, since: line.sinceAt, secondSince: line.secondSinceAt } }),
  }));
}

/**
 * What should be written down about a node: the first sight of every taint without `timeAdded` that a countdown rests
 * on, or that is written down already and still stands, by what we count from. Null when that is what the API shows.
 */
export function firstSightsToWrite(
  node: ObservedNode,
  known: readonly KnownTaint[],
  countedTaints: () => ReadonlySet<Taint>,
): Readonly<Record<string, string>> | null {
  const written = node.taintsSeenAt ?? {};
  const bare = known.filter(({ taint }) => epochMsOf(taint.timeAdded) === null);
  const isNamed = ({ taint }: KnownTaint) => Object.hasOwn(written, taintName(taint));
  const isWritten = ({ taint, sinceAt }: KnownTaint) => written[taintName(taint)] === sinceAt;
  // To know what counts, every sentence on the node is looked at: only when something may be left to write.
  const counted = bare.every(isNamed) ? new Set<Taint>() : countedTaints();
  const wanted = bare.filter((known) => counted.has(known.taint) || isNamed(known));
  if (wanted.every(isWritten) && wanted.length === Object.keys(written).length) return null;
  return Object.fromEntries(wanted.map(({ taint, sinceAt }) => [taintName(taint), apiMicroTime(sinceAt)]));
}

/** Whether two evictions have the same cause; when that is so and both are overdue, nothing has changed. */
export function isSameCause(left: Pick<Eviction, "taint" | "tolerationSeconds">, right: Eviction): boolean {
  return isSame(left.taint, right.taint) && left.tolerationSeconds === right.tolerationSeconds;
}

/** Of two first sights of a taint without `timeAdded` the later one counts: it is what the writer goes by. */
function withLaterSight(known: KnownTaint, { taintsSeenAt }: ObservedNode): KnownTaint {
  const { taint, since, sinceAt } = known;
  if (epochMsOf(taint.timeAdded) !== null) return known;
  const laterMs = Math.max(0, (taintsSeenAt?.[taintName(taint)] ?? sinceAt) - sinceAt);
  return { taint, since: since + laterMs, sinceAt: sinceAt + laterMs };
}

/** A first sight is a whole millisecond: finer than it is written down, it would never be read again as the same. */
function startOf(taint: Taint, node: ObservedNode, { wallMs }: Now): number {
  return epochMsOf(taint.timeAdded) ?? node.taintsSeenAt?.[taintName(taint)] ?? Math.ceil(wallMs);
}

function isSame(left: Taint, right: Taint): boolean {
  return left.key === right.key && left.effect === right.effect && left.timeAdded === right.timeAdded;
}
