/**
 * Outages: time in which no node could be heard, because the API server was away or no kubelet could reach it.
 * Countdowns that the silence of a node causes are paused meanwhile, and do not end before the node had its full grace
 * to be heard.
 *
 *   taint      API away                  first heartbeat of any node
 *   |..........|xxxxxxxxxxxxxxxxxxxxxxxxx|........................|
 *   0 s       100 s                    700 s                     900 s   a pod that tolerates the taint for 300 s goes
 *
 * The observer finds outages (observer/outage-detection.ts) and publishes them with its pulses; the policy service
 * remembers them and publishes what is remembered with `judged.policies`. A reader computes with both, by the functions
 * here alone. Instants are epoch milliseconds of the API server's clock. It reads no clock.
 */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { FrozenInterval, PolicySet } from "../../../protocols/policy-set.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { graceMsOf } from "../node-conditions.ts";
import { appliedPolicyOf } from "../node-policy.ts";
import { countdownEndAt, mergedIntervals, onClock } from "./frozen-time.ts";

/**
 * The beginning of an outage when nothing shows since when nodes could be heard, or when its end could not be
 * remembered: before every countdown, so that each of them counts again from the end.
 */
export const UNKNOWN_START_AT = 0;

/** Kubelets renew their leases at this interval by default (nodeLeaseDurationSeconds × 0.25), in milliseconds. */
const RENEWAL_MS = 10_000;
/** Upstream chose a grace of five renewals (1.32 and newer). */
const RENEWALS_PER_GRACE = 5;

/**
 * The shortest time without any heartbeat that is an outage, in milliseconds: two renewals of a lease. An operator who
 * has made kubelets renew less often has made the grace longer.
 */
export function outageMinMs({ nodeMonitorGraceMs }: Pick<Profile, "nodeMonitorGraceMs">): number {
  return 2 * Math.max(RENEWAL_MS, nodeMonitorGraceMs / RENEWALS_PER_GRACE);
}

/** What outages mean for what the silence of one node causes. */
export interface OutageTime {
  /** When no node could be heard, in order and apart; the last one has no end while it lasts. */
  readonly intervals: readonly FrozenInterval[];
  /** Nothing ends before: the end of the last outage plus the node's grace; infinity while one lasts. */
  readonly notBeforeAt: number;
}

/** When countdowns that the silence of a node causes were and are paused; absent for never. */
export interface PausedTime {
  readonly frozen?: readonly FrozenInterval[];
  readonly outages?: OutageTime;
}

/** Without any outage. */
export const NO_OUTAGES: OutageTime = { intervals: [], notBeforeAt: Number.NEGATIVE_INFINITY };

/**
 * The outages that count for a node with this grace. An outage that is observed but not remembered yet has no end: the
 * process that evicts by it could stop, and its successor would know nothing of it. Where no process remembers outages,
 * `remembered` is null and each countdown counts again from the end of the last one.
 */
function outageTimeOf(
  remembered: readonly FrozenInterval[] | null,
  observed: readonly FrozenInterval[],
  graceMs: number,
): OutageTime {
  if (observed.length === 0 && (remembered === null || remembered.length === 0)) return NO_OUTAGES;
  const counted = observed.map((outage): FrozenInterval => {
    if (outage.toAt === null) return outage;
    if (remembered === null) return { fromAt: UNKNOWN_START_AT, toAt: outage.toAt };
    return isRemembered(outage, remembered) ? outage : { fromAt: outage.fromAt, toAt: null };
  });
  const intervals = mergedIntervals([...(remembered ?? []), ...counted]);
  const last = intervals.at(-1);
  const notBeforeAt = last === undefined ? Number.NEGATIVE_INFINITY : (last.toAt ?? Number.POSITIVE_INFINITY) + graceMs;
  return { intervals, notBeforeAt };
}

/** The outages that count for a node, by the policies in force. */
export function nodeOutagesOf(
  node: ObservedNode,
  set: PolicySet | null,
  observed: readonly FrozenInterval[],
  profile: Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs">,
): OutageTime {
  if (observed.length === 0 && (set?.outages ?? []).length === 0) return NO_OUTAGES;
  const graceMs = graceMsOf(node, profile, appliedPolicyOf(node, set));
  return outageTimeOf(set?.outages ?? null, observed, graceMs);
}

/** Whether an outage is over, and remembered from its beginning to its end. */
export function isRemembered({ fromAt, toAt }: FrozenInterval, remembered: readonly FrozenInterval[]): boolean {
  return remembered.some(
    (each) => toAt !== null && each.fromAt <= fromAt && (each.toAt ?? Number.POSITIVE_INFINITY) >= toAt,
  );
}

/** The same on another clock, which is ahead by so much. */
export function outagesOnClock({ intervals, notBeforeAt }: OutageTime, aheadMs: number): OutageTime {
  return { intervals: onClock(intervals, aheadMs), notBeforeAt: notBeforeAt + aheadMs };
}

/** Whether an outage lasts, or one that is over is not remembered yet. */
export function isInOutage({ notBeforeAt }: OutageTime): boolean {
  return notBeforeAt === Number.POSITIVE_INFINITY;
}

/**
 * When a countdown ends that the silence of a node causes. It is paused while the node is frozen and while no node
 * could be heard, and does not end before the node had its full grace to be heard.
 */
export function silenceCountdownEndAt(
  startAt: number,
  durationMs: number,
  { frozen = [], outages = NO_OUTAGES }: PausedTime,
): number {
  const stopped = outages.intervals.length === 0 ? frozen : mergedIntervals([...frozen, ...outages.intervals]);
  return Math.max(countdownEndAt(startAt, durationMs, stopped), outages.notBeforeAt);
}

/**
 * The outages that are over where nodes were heard until `heardAt`: one that lasts may have begun as another one that
 * was over by then.
 */
export function outagesOver(outages: readonly FrozenInterval[], heardAt: number): FrozenInterval[] {
  return outages
    .map(({ fromAt, toAt }) => ({ fromAt, toAt: toAt ?? heardAt }))
    .filter(({ fromAt, toAt }) => fromAt < toAt);
}

/**
 * The times of more than `minMs` between `fromAt` and `toAt` without any of the instants at which a heartbeat was
 * accepted. An instant outside counts for nothing. Example: with heartbeats at 5 s and 40 s, and a `minMs` of 20 s, the
 * times between 0 s and 50 s are one outage, from 5 s to 40 s.
 */
export function outagesBetween(
  heardAts: Iterable<number>,
  { fromAt, toAt, minMs }: { readonly fromAt: number; readonly toAt: number; readonly minMs: number },
): FrozenInterval[] {
  const inside = [...heardAts].filter((at) => at > fromAt && at < toAt).sort((left, right) => left - right);
  const outages: FrozenInterval[] = [];
  let lastAt = fromAt;
  for (const at of [...inside, toAt]) {
    if (at - lastAt > minMs) outages.push({ fromAt: lastAt, toAt: at });
    lastAt = at;
  }
  return outages;
}
