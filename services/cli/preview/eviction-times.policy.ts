/**
 * Which pods go at an instant that a preview does not know, and how early they may go. Nothing in the API shows which
 * pods of a rated policy were evicted in the minute before the preview, and these count. And a pod that a disruption
 * budget refuses is retried after a random pause, meanwhile others go: of two pods that are refused until 12:00, one
 * may go then and the other, with one eviction a minute, at 12:01, and which one is up to chance. So it is where a
 * budget lets one of two pods go that are due at one instant, with a rate or without.
 */
import type { PolicyReport } from "../../../protocols/ledger-reader.ts";
import { WINDOW_MS } from "../../pod-writer/rates/eviction-window.ts";

/** A pod that is due within the preview. Spans are in milliseconds after its start. */
export interface RatedPod {
  readonly uid: string;
  /** When it is due: no pod goes before. */
  readonly dueMs: number;
  /** Null for a pod that stays. */
  readonly deletedMs: number | null;
  /** When a disruption budget refused it first; null for never. */
  readonly refusedMs: number | null;
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

/** A pod that a disruption budget protects. Spans are in milliseconds after the start. */
export type ProtectedPod = Pick<RatedPod, "uid" | "deletedMs" | "refusedMs">;

/** Why the instant of a pod is not known. */
export type UnknownBecause = "evictions before" | "order" | "rate" | "budget";

/** The reasons for people. */
export const UNKNOWN_BECAUSE: Readonly<Record<UnknownBecause, string>> = {
  "evictions before": "later if its policy evicted pods in the minute before, which is not known",
  order: "in which order its policy evicts pods after a refusal is not known",
  rate: "later if the rate of its policy holds it back",
  budget: "the disruption budget lets fewer go than are due, and which ones is not known",
};

/** Evictions that are requested so shortly after each other may be answered in either order, in milliseconds. */
const AT_ONCE_MS = 1000;

/** How early a pod may go whose instant is not known. */
export interface EarliestEviction {
  readonly earliestMs: number;
  readonly because: UnknownBecause;
}

/** The policies none of whose evictions counts now, as a running process reports. */
export function idleOf(reports: readonly Pick<PolicyReport, "name" | "evictions">[]): ReadonlySet<string> {
  return new Set(reports.filter(({ evictions }) => evictions?.lastMinute === 0).map(({ name }) => name));
}

/** The pods of one policy whose instants are not known, by uid. */
export function unknownTimes(
  pods: readonly RatedPod[],
  { isCountKnown, areRefusalsKnown, isProtected }: RatedKnowledge,
): ReadonlyMap<string, EarliestEviction> {
  const moved = isCountKnown ? [] : movedPods(pods);
  const mayRefuseOthers = !areRefusalsKnown || (isProtected && moved.length > 0);
  const fromMs = mayRefuseOthers ? Number.NEGATIVE_INFINITY : firstRefusalMs(pods);
  const reordered = pods.some(({ hasWaited }) => hasWaited)
    ? pods.filter(({ deletedMs }) => (deletedMs ?? Number.MAX_VALUE) >= fromMs)
    : [];
  return new Map([
    ...pods.filter(({ isFollowed }) => !isFollowed).map(({ uid, dueMs }) => earliest(uid, dueMs, "rate")),
    ...moved.map(({ uid, deletedMs, dueMs }) => earliest(uid, deletedMs ?? dueMs, "evictions before")),
    ...reordered.map(({ uid, dueMs }) => earliest(uid, dueMs, "order")),
  ]);
}

/** The pods of one disruption budget that are due as it lets another one go in their place, by uid. */
export function contendedTimes(pods: readonly ProtectedPod[]): ReadonlyMap<string, EarliestEviction> {
  const dueOf = ({ refusedMs, deletedMs }: ProtectedPod): number | null => refusedMs ?? deletedMs;
  const isContended = (pod: ProtectedPod): boolean =>
    pods.some((other) => {
      const apartMs = (dueOf(other) ?? Infinity) - (dueOf(pod) ?? Infinity);
      return Math.abs(apartMs) <= AT_ONCE_MS && (pod.refusedMs === null) !== (other.refusedMs === null);
    });
  return new Map(pods.filter(isContended).map((pod) => earliest(pod.uid, dueOf(pod) ?? 0, "budget")));
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

function firstRefusalMs(pods: readonly RatedPod[]): number {
  return pods.reduce((first, { refusedMs }) => Math.min(first, refusedMs ?? first), Number.POSITIVE_INFINITY);
}

function earliest(uid: string, earliestMs: number, because: UnknownBecause): [string, EarliestEviction] {
  return [uid, { earliestMs, because }];
}
