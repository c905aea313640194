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

/** A pod at the end of a preview. */
export interface PodOutcome extends RecordedPod {
  readonly uid: string;
  /** When it is deleted, as far as is known: a countdown that was not waited for ends as published. Null for never. */
  readonly goneMs: number | null;
}

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
  pods: readonly PodOutcome[],
  { isIdle, budgets }: RatedKnowledge,
): ReadonlyMap<string, EarliestEviction> {
  // A pod does not go before it is due. A countdown of days is not followed to its request.
  const due = pods.flatMap((pod) => {
    const dueMs = pod.requestedMs ?? pod.goneMs;
    return dueMs === null ? [] : [{ ...pod, dueMs }];
  });
  const moved: ReadonlySet<unknown> = isIdle ? new Set() : movedPods(due);
  const mayMoveRefusals = moved.size > 0 && due.some(({ uid }) => budgets?.some((budget) => budget.pods.has(uid)));
  const latestMs = budgets === null || mayMoveRefusals ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const reorderedFromMs = due.reduce((first, { refusedMs }) => Math.min(first, refusedMs ?? Infinity), latestMs);
  const isReordered = due.some(({ waitedFor }) => waitedFor !== undefined);
  const unknown = new Map<string, EarliestEviction>();
  for (const pod of due) {
    const { uid, dueMs, goneMs, requestedMs } = pod;
    const mayMove = isReordered && (goneMs ?? Number.MAX_VALUE) >= reorderedFromMs;
    if (mayMove) unknown.set(uid, { earliestMs: dueMs, because: BECAUSE_ORDER });
    else if (moved.has(pod)) unknown.set(uid, { earliestMs: goneMs ?? dueMs, because: BECAUSE_BEFORE });
    else if (requestedMs === undefined) unknown.set(uid, { earliestMs: dueMs, because: BECAUSE_RATE });
  }
  return unknown;
}

/** The pods of one disruption budget that are due as it lets another one go in their place, by uid. */
export function contendedTimes(pods: readonly Omit<PodOutcome, "goneMs">[]): ReadonlyMap<string, EarliestEviction> {
  // Not a number for a pod that stays: it is at once with none.
  const dueMsOf = ({ refusedMs, deletedMs }: RecordedPod): number => refusedMs ?? deletedMs ?? Number.NaN;
  const isRefused = ({ refusedMs }: RecordedPod): boolean => refusedMs !== undefined;
  const contend = (one: RecordedPod, other: RecordedPod): boolean =>
    Math.abs(dueMsOf(one) - dueMsOf(other)) <= AT_ONCE_MS && isRefused(one) !== isRefused(other);
  const contended = pods.filter((pod) => pods.some((other) => contend(pod, other)));
  return new Map(contended.map((pod) => [pod.uid, { earliestMs: dueMsOf(pod), because: BECAUSE_BUDGET }]));
}

/** The pods that evictions from before the preview may delay: by up to a minute, and then they delay others. */
function movedPods<P extends { readonly dueMs: number } & PodOutcome>(due: readonly P[]): ReadonlySet<P> {
  const moved = new Set<P>();
  let untilMs = WINDOW_MS;
  for (const pod of due.toSorted((left, right) => left.dueMs - right.dueMs)) {
    if (pod.goneMs === null || pod.dueMs >= untilMs) continue;
    untilMs = Math.max(untilMs, pod.goneMs + 2 * WINDOW_MS);
    moved.add(pod);
  }
  return moved;
}
