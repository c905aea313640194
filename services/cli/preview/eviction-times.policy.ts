/**
 * Which pods go at an instant that a preview does not know, and how early they may go. Nothing in the API shows which
 * pods of a rated policy were evicted in the minute before the preview, and these count. And a pod that a disruption
 * budget refuses is retried after a random pause, meanwhile others go: of two pods that are refused until 12:00, one
 * may go then and the other, with one eviction a minute, at 12:01, and which one is up to chance. So it is where a
 * budget lets one of two pods go that are due at one instant, with a rate or without.
 */
import type { PolicyReport } from "../../../protocols/ledger-reader.ts";
import { WINDOW_MS } from "../../pod-writer/rates/eviction-window.ts";

/** A pod that a disruption budget protects. Spans are in milliseconds after the start of the preview. */
export interface ProtectedPod {
  readonly uid: string;
  /** Null for a pod that stays. */
  readonly deletedMs: number | null;
  /** When a disruption budget refused it first; null for never. */
  readonly refusedMs: number | null;
}

/** A pod that is due within the preview. */
export interface RatedPod extends ProtectedPod {
  /** When it is due: no pod goes before. */
  readonly dueMs: number;
  readonly hasWaited: boolean;
  /** Whether the preview has gone on until it was due; it does not for a countdown of days. */
  readonly isFollowed: boolean;
}

/** What is known of the evictions of a policy. */
export interface RatedKnowledge {
  /** Whether it is known that no eviction from before the preview counts. */
  readonly isCountKnown: boolean;
  /** Whether it is known which pods disruption budgets refuse. */
  readonly areRefusalsKnown: boolean;
  /** Whether a disruption budget protects any of its pods. */
  readonly isProtected: boolean;
}

/** How early a pod may go whose instant is not known, and why it is not, for people. */
export interface EarliestEviction {
  readonly earliestMs: number;
  readonly because: string;
}

const BECAUSE_BEFORE = "later if its policy evicted pods in the minute before, which is not known";
const BECAUSE_ORDER = "in which order its policy evicts pods after a refusal is not known";
const BECAUSE_RATE = "later if the rate of its policy holds it back";
const BECAUSE_BUDGET = "the disruption budget lets fewer go than are due, and which ones is not known";

/** Evictions that are requested so shortly after each other may be answered in either order, in milliseconds. */
const AT_ONCE_MS = 1000;

/** The policies none of whose evictions counts now, as a running process reports. */
export function idleOf(reports: readonly Pick<PolicyReport, "name" | "evictions">[]): ReadonlySet<string> {
  return new Set(reports.filter(({ evictions }) => evictions?.lastMinute === 0).map(({ name }) => name));
}

/** The pods of one policy whose instants are not known, by uid. */
export function unknownTimes(
  pods: readonly RatedPod[],
  { isCountKnown, areRefusalsKnown, isProtected }: RatedKnowledge,
): ReadonlyMap<string, EarliestEviction> {
  const moved = new Set(isCountKnown ? [] : movedPods(pods));
  const mayRefuseOthers = !areRefusalsKnown || (isProtected && moved.size > 0);
  const refusals = mayRefuseOthers ? [Number.NEGATIVE_INFINITY] : pods.map(({ refusedMs }) => refusedMs ?? Infinity);
  const reorderedFromMs = refusals.reduce((first, ms) => Math.min(first, ms), Infinity);
  const isReordered = pods.some(({ hasWaited }) => hasWaited);
  const found = pods.flatMap((pod): [string, EarliestEviction][] => {
    const { uid, dueMs, deletedMs, isFollowed } = pod;
    if (isReordered && (deletedMs ?? Number.MAX_VALUE) >= reorderedFromMs) {
      return [[uid, { earliestMs: dueMs, because: BECAUSE_ORDER }]];
    }
    if (moved.has(pod)) return [[uid, { earliestMs: deletedMs ?? dueMs, because: BECAUSE_BEFORE }]];
    return isFollowed ? [] : [[uid, { earliestMs: dueMs, because: BECAUSE_RATE }]];
  });
  return new Map(found);
}

/** The pods of one disruption budget that are due as it lets another one go in their place, by uid. */
export function contendedTimes(pods: readonly ProtectedPod[]): ReadonlyMap<string, EarliestEviction> {
  const due = pods.flatMap(({ uid, refusedMs, deletedMs }) => {
    const dueMs = refusedMs ?? deletedMs;
    return dueMs === null ? [] : [{ uid, dueMs, isRefused: refusedMs !== null }];
  });
  const contended = due.filter(({ dueMs, isRefused }) =>
    due.some((other) => Math.abs(other.dueMs - dueMs) <= AT_ONCE_MS && other.isRefused !== isRefused),
  );
  return new Map(contended.map(({ uid, dueMs }) => [uid, { earliestMs: dueMs, because: BECAUSE_BUDGET }]));
}

/** The pods that evictions from before the preview may delay: by up to a minute, and then they delay others. */
function movedPods(pods: readonly RatedPod[]): RatedPod[] {
  let untilMs = WINDOW_MS;
  return pods
    .toSorted((left, right) => left.dueMs - right.dueMs)
    .filter(({ dueMs, deletedMs }) => {
      if (deletedMs === null || dueMs >= untilMs) return false;
      untilMs = Math.max(untilMs, deletedMs + 2 * WINDOW_MS);
      return true;
    });
}
