/**
 * Which pods go at an instant that a preview does not know, and how early they may go. Nothing in the API shows which
 * pods of a rated policy were evicted in the minute before the preview, and these count. And a pod that a disruption
 * budget refuses is retried after a random pause, meanwhile others go: of two pods that are refused until 12:00, one
 * may go then and the other, with one eviction a minute, at 12:01, and which one is up to chance. So it is where a
 * budget lets one of two pods go that are due at one instant, with a rate or without.
 */
import type { PolicyReport } from "../../../protocols/ledger-reader.ts";
import { WINDOW_MS } from "../../pod-writer/rates/eviction-window.ts";
import type { RecordedPod } from "./preview-record.ts";

/** A pod of a rated policy. */
export interface RatedPod extends Pick<RecordedPod, "requestedMs" | "refusedMs" | "waitedFor"> {
  readonly uid: string;
  /** Null for a pod that stays. */
  readonly goneMs: number | null;
}

/** A pod that goes within the preview, and not before it is due. A countdown of days is not followed to its request. */
type DuePod = RatedPod & { readonly dueMs: number };

/** What is known of the evictions of a policy. */
export interface RatedKnowledge {
  /** Whether no eviction from before the preview counts. */
  readonly isIdle: boolean;
  /** The disruption budgets that may refuse them; null where these could not be read. */
  readonly budgets: readonly { readonly pods: Pick<ReadonlySet<string>, "has"> }[] | null;
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
  { isIdle, budgets }: RatedKnowledge,
): ReadonlyMap<string, EarliestEviction> {
  const due = pods.flatMap((pod) => {
    const dueMs = pod.requestedMs ?? pod.goneMs;
    return dueMs === null ? [] : [{ ...pod, dueMs }];
  });
  const moved = isIdle ? new Set() : movedPods(due);
  const mayMoveRefusals = moved.size > 0 && due.some(({ uid }) => budgets?.some((budget) => budget.pods.has(uid)));
  const reorderedFromMs =
    budgets === null || mayMoveRefusals
      ? Number.NEGATIVE_INFINITY
      : due.reduce((first, { refusedMs }) => Math.min(first, refusedMs ?? Infinity), Infinity);
  const isReordered = due.some(({ waitedFor }) => waitedFor !== undefined);
  const earliestOf = (pod: DuePod): EarliestEviction | null => {
    const { dueMs, goneMs, requestedMs } = pod;
    const isOrdered = !isReordered || (goneMs ?? Number.MAX_VALUE) < reorderedFromMs;
    if (!isOrdered) return { earliestMs: dueMs, because: BECAUSE_ORDER };
    if (moved.has(pod)) return { earliestMs: goneMs ?? dueMs, because: BECAUSE_BEFORE };
    return requestedMs === undefined ? { earliestMs: dueMs, because: BECAUSE_RATE } : null;
  };
  return new Map(
    due.flatMap((pod) => {
      const earliest = earliestOf(pod);
      return earliest === null ? [] : [[pod.uid, earliest]];
    }),
  );
}

/** The pods of one disruption budget that are due as it lets another one go in their place, by uid. */
export function contendedTimes(
  pods: readonly (Pick<RecordedPod, "deletedMs" | "refusedMs"> & { readonly uid: string })[],
): ReadonlyMap<string, EarliestEviction> {
  const due = pods.flatMap(({ uid, refusedMs, deletedMs }) => {
    const dueMs = refusedMs ?? deletedMs;
    return dueMs === undefined ? [] : [{ uid, dueMs, isRefused: refusedMs !== undefined }];
  });
  const contended = due.filter(({ dueMs, isRefused }) =>
    due.some((other) => Math.abs(other.dueMs - dueMs) <= AT_ONCE_MS && other.isRefused !== isRefused),
  );
  return new Map(contended.map(({ uid, dueMs }) => [uid, { earliestMs: dueMs, because: BECAUSE_BUDGET }]));
}

/** The pods that evictions from before the preview may delay: by up to a minute, and then they delay others. */
function movedPods(due: readonly DuePod[]): ReadonlySet<unknown> {
  const moved = new Set<DuePod>();
  let untilMs = WINDOW_MS;
  for (const pod of due.toSorted((left, right) => left.dueMs - right.dueMs)) {
    if (pod.goneMs === null || pod.dueMs >= untilMs) continue;
    untilMs = Math.max(untilMs, pod.goneMs + 2 * WINDOW_MS);
    moved.add(pod);
  }
  return moved;
}
