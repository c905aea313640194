/** When a pod with these tolerations must leave a node with these NoExecute taints. It reads no clock. */
import { TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ObservedPod, Taint, TaintId, Toleration } from "../../protocols/objects.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import { countdownEndAt } from "./paused-time/frozen-time.ts";
import { NO_OUTAGES, type OutageTime, silenceCountdownEndAt } from "./paused-time/outages.ts";

/** A NoExecute taint and the instant it counts from, in milliseconds on any clock of the caller. */
export interface CountedTaint {
  readonly taint: Taint;
  readonly since: number;
  /** The lineage that this taint continues; absent when it replaced none. */
  readonly lineage?: TaintLineage;
}

/** Two taints that replaced each other, once or more often, and when each first appeared. */
export interface TaintLineage {
  readonly first: TaintId;
  readonly second: TaintId;
  readonly since: number;
  readonly secondSince: number;
}

/** What tolerations are matched and counted by. */
export interface TolerationRules {
  /** Whether the operators Lt and Gt exist (profile.tolerationComparisonOperators). */
  readonly comparisonOperators: boolean;
  /** When countdowns were and are paused, on the clock of the taints' `since`; absent for never. */
  readonly frozen?: readonly FrozenInterval[];
  /** What outages mean for countdowns by the node's health, on the same clock; absent for none. */
  readonly outages?: OutageTime;
}

/** When a pod has to leave because of a taint. */
export interface Eviction {
  /** On the clock of the taints' `since`; negative infinity for at once, infinity for a freeze or outage that lasts. */
  readonly at: number;
  /** The taint that decides. */
  readonly taint: Taint;
  /** Seconds of the toleration that decides; null when none matches. */
  readonly tolerationSeconds: number | null;
  /** The taint that this toleration is for, if that is the opposite of `taint`; null where it is `taint` itself. */
  readonly toleratedTaint: TaintId | null;
}

/** A taint's identity as kubectl and Annotation.taintsSeen write it: `key:effect`. */
export function taintName({ key, effect }: Pick<Taint, "key" | "effect">): string {
  return `${key}:${effect}`;
}

/** Whether two taints have the same identity. */
export function isSameTaint(left: TaintId, right: TaintId): boolean {
  return left.key === right.key && left.effect === right.effect;
}

const SECOND_MS = 1000;

/**
 * Later instants are never reached: the year 9000, which is before the last instant that a message may carry.
 * tolerationSeconds is an int64; times 1000 it exceeds the safe integers but not the doubles, so no sum here overflows.
 */
const NEVER_MS = 221_845_392_000_000;

/** A canonical decimal integer, which Lt and Gt require of both values (R8.33). */
const DECIMAL = /^(?:0|-?[1-9][0-9]{0,18})$/;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** The taints of a node that evict pods, in order (R8.10). */
export function noExecuteTaints(taints: readonly Taint[]): Taint[] {
  return taints.filter(({ effect }) => effect === TaintEffect.noExecute);
}

/**
 * Whether a taint says that its node is not ready or not heard: those two replace each other when the node's Ready
 * status changes between False and Unknown (R8.18).
 */
export function isSwappable({ key, effect }: TaintId): boolean {
  return effect === TaintEffect.noExecute && (key === TaintKey.notReady || key === TaintKey.unreachable);
}

/** Phases of a pod with nothing left to run; evicting it only loses its record (upstream issue 96363). */
const COMPLETED_PHASES: readonly string[] = ["Succeeded", "Failed"];

/** Whether a pod has completed, so that taints no longer evict it. */
export function hasCompleted({ phase }: Pick<ObservedPod, "phase">): boolean {
  return COMPLETED_PHASES.includes(phase);
}

/**
 * When a pod must leave; null when it may stay for ever. Each taint counts from its own `since`, but not before the pod
 * was bound, and for the seconds of the first toleration that matches it (R8.34, R8.35). The earliest end decides. A
 * taint without a match, or tolerated for 0 seconds or less, evicts at once; a toleration without seconds never does,
 * nor does a taint that a toleration may match which cannot be read. A running countdown continues when the opposite
 * taint replaces its own (R8.18). What the node's health causes waits for the node to be heard after an outage.
 * Example: a taint counts from second 0, and the pod tolerates it for 300 s. A pod that is bound at second 100 leaves
 * at 400. If `unreachable` replaces `not-ready` at second 200, a pod that was bound before second 0 and tolerates both
 * for 300 s still leaves at 300.
 */
export function evictionOf(
  taints: readonly CountedTaint[],
  tolerations: readonly Toleration[],
  boundAt: number,
  rules: TolerationRules,
): Eviction | null {
  let earliest: Eviction | null = null;
  for (const counted of taints) {
    const eviction = evictionBy(counted, tolerations, boundAt, rules);
    if (eviction !== null && (earliest === null || eviction.at < earliest.at)) earliest = eviction;
  }
  return earliest;
}

/** What is known of a pod's binding besides its stamp; instants are epoch milliseconds. */
export interface KnownBinding {
  /** When the pod was known to be bound, if that is before its stamp; null if nothing earlier is known. */
  readonly seenAt: number | null;
  readonly nowAt: number;
}

/**
 * When a pod counts as bound. Its stamp is by the clock of the API server or kubelet that wrote it, or by a user who
 * may write pod status, but a pod was bound at the latest when it was first seen on its node, and not before it was
 * created. A stamp in the future counts for nothing: without an earlier observation of the pod its creation counts. If
 * that is in the future too, only its taints decide, and the result is negative infinity. An observation from before
 * the pod's creation is ignored, unless the creation is in the future. Example: it is 12:00, and a pod created at 11:50
 * is stamped 12:30. It was first observed at 11:52, so it counts as bound at 11:52; without that observation, at 11:50.
 */
export function bindingAt(
  { boundAt, createdAt }: Pick<ObservedPod, "boundAt" | "createdAt">,
  { seenAt, nowAt }: KnownBinding,
): number {
  if (seenAt !== null && seenAt < boundAt && (seenAt >= createdAt || createdAt > nowAt)) return seenAt;
  const earliestAt = createdAt > nowAt ? Number.NEGATIVE_INFINITY : createdAt;
  return boundAt > nowAt ? earliestAt : Math.max(boundAt, earliestAt);
}

function evictionBy(
  counted: CountedTaint,
  tolerations: readonly Toleration[],
  boundAt: number,
  rules: TolerationRules,
): Eviction | null {
  const { taint, since } = counted;
  const own = secondsFor(taint, tolerations, rules);
  if (own === Number.POSITIVE_INFINITY) return null;
  if (own === null) return evictionAtOnce(taint, own, rules);
  const running = runningBy(counted, tolerations, boundAt, rules);
  if (running === null && own <= 0) return evictionAtOnce(taint, own, rules);
  const { startAt, seconds, toleratedTaint } = running ?? {
    startAt: Math.max(since, boundAt),
    seconds: own,
    toleratedTaint: null,
  };
  if (startAt + seconds * SECOND_MS >= NEVER_MS) return null;
  const durationMs = seconds * SECOND_MS;
  const at = isSwappable(taint)
    ? silenceCountdownEndAt(startAt, durationMs, rules)
    : countdownEndAt(startAt, durationMs, rules.frozen ?? []);
  return { at, taint, tolerationSeconds: seconds, toleratedTaint: seconds === own ? null : toleratedTaint };
}

function evictionAtOnce(taint: Taint, tolerationSeconds: number | null, rules: TolerationRules): Eviction {
  const { notBeforeAt } = isSwappable(taint) ? (rules.outages ?? NO_OUTAGES) : NO_OUTAGES;
  return { at: notBeforeAt, taint, tolerationSeconds, toleratedTaint: null };
}

/**
 * The countdown that began with an earlier taint of the lineage and continues, even if no toleration matches the
 * present one. Null when there is none: one of the two is tolerated for ever or not at all, or the pod came after the
 * last swap.
 */
function runningBy(
  { lineage, since }: CountedTaint,
  tolerations: readonly Toleration[],
  boundAt: number,
  rules: TolerationRules,
): { readonly startAt: number; readonly seconds: number; readonly toleratedTaint: TaintId } | null {
  if (lineage === undefined) return null;
  const first = secondsFor(lineage.first, tolerations, rules) ?? Number.POSITIVE_INFINITY;
  const second = secondsFor(lineage.second, tolerations, rules) ?? Number.POSITIVE_INFINITY;
  if (Math.max(first, second) === Number.POSITIVE_INFINITY) return null;
  // Stamps of a clock that was set back have no order; only the last one can be trusted.
  const isOrdered = !isBefore(lineage.secondSince, lineage.since) && !isBefore(since, lineage.secondSince);
  if (isOrdered && isBefore(since, boundAt)) return null;
  // Nothing records which of the two a pod met first if it came between two swaps or during the second taint. The later
  // end counts.
  const seconds = isOrdered && isBefore(boundAt, lineage.secondSince) ? first : Math.max(first, second);
  const toleratedTaint = seconds === first ? lineage.first : lineage.second;
  return { startAt: Math.max(isOrdered ? lineage.since : since, boundAt), seconds, toleratedTaint };
}

/**
 * Whether one instant is before another as the API stamps them, in whole seconds. Equal stamps may differ a little on
 * the caller's clock, which is slewed or rounded between readings.
 */
function isBefore(left: number, right: number): boolean {
  return left < right - SECOND_MS / 2;
}

/** Seconds for which a taint is tolerated: infinity without a limit or if that cannot be read, null without a match. */
function secondsFor(taint: Taint, tolerations: readonly Toleration[], rules: TolerationRules): number | null {
  for (const toleration of tolerations) {
    const match = matchOf(toleration, taint, rules);
    if (match === "unreadable") return Number.POSITIVE_INFINITY;
    if (match === "matches") return toleration.tolerationSeconds ?? Number.POSITIVE_INFINITY;
  }
  return null;
}

/** Whether a toleration matches a taint (R8.33). An empty effect or key matches every one. */
export function tolerates(toleration: Toleration, taint: Taint, rules: TolerationRules): boolean {
  return matchOf(toleration, taint, rules) === "matches";
}

/** A toleration that may or may not match a taint, because Vigil cannot read its operator or its effect. */
export interface UnreadableToleration {
  readonly taint: TaintId;
  readonly toleration: Toleration;
}

/**
 * The toleration for which a pod is not evicted by one of these taints, because it cannot be read and comes before each
 * one that matches; null for none. Example: a pod tolerates version=2 with the operator SemverGt of a later Kubernetes,
 * and this version of Vigil cannot compare that. Upstream evicts it.
 */
export function unreadableTolerationOf(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  rules: TolerationRules,
): UnreadableToleration | null {
  for (const taint of taints) {
    const first = tolerations.find((toleration) => matchOf(toleration, taint, rules) !== "differs");
    if (first !== undefined && matchOf(first, taint, rules) === "unreadable") return { taint, toleration: first };
  }
  return null;
}

/** What cannot be read of a toleration, and the remedy, for people. */
export function unreadableText({ operator = "", effect = "" }: Toleration): string {
  if (OPERATORS.get(operator)?.isGated === true) {
    const gate = "--feature-gates=TaintTolerationComparisonOperators=true";
    return `toleration operator ${operator}: give ${gate} or delete the pod by hand`;
  }
  const isOperator = !isKnownOperator(operator);
  const what = isOperator ? `operator ${operator}` : `effect ${effect}`;
  return `toleration ${what}: this version of Vigil does not know it, so upgrade Vigil or delete the pod by hand`;
}

/** How a toleration's operator compares the value of a taint with its own (R8.33). */
interface Operator {
  readonly matches: (taintValue: string, own: string) => boolean;
  /** Whether it exists only where the profile says so. */
  readonly isGated?: boolean;
}

const isEqual: Operator["matches"] = (taintValue, own) => taintValue === own;
const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["", { matches: isEqual }],
  ["Equal", { matches: isEqual }],
  ["Exists", { matches: () => true }],
  ["Lt", { matches: (taintValue, own) => isInOrder(taintValue, own), isGated: true }],
  ["Gt", { matches: (taintValue, own) => isInOrder(own, taintValue), isGated: true }],
]);

/** Whether some version of Vigil's rules compares by this operator; one may need a gate. */
function isKnownOperator(operator: string): boolean {
  return OPERATORS.has(operator);
}

const EFFECTS: readonly string[] = ["", ...Object.values(TaintEffect)];

/** Whether a toleration of this effect may concern a NoExecute taint: an unknown effect may mean any. */
function mayConcernNoExecute(effect: string): boolean {
  return effect === "" || effect === TaintEffect.noExecute || !EFFECTS.includes(effect);
}

type Match = "matches" | "differs" | "unreadable";

function matchOf(toleration: Toleration, taint: Taint, rules: TolerationRules): Match {
  const { key = "", effect = "" } = toleration;
  if (key !== "" && key !== taint.key) return "differs";
  if (effect === "" || effect === taint.effect) return valueMatchOf(toleration, taint, rules);
  if (EFFECTS.includes(effect)) return "differs";
  return valueMatchOf(toleration, taint, rules) === "differs" ? "differs" : "unreadable";
}

function valueMatchOf({ operator = "", value = "" }: Toleration, taint: Taint, rules: TolerationRules): Match {
  // Almost every toleration is of this kind, and each pod of a node is matched whenever its taints change.
  if (operator === "Exists") return "matches";
  const known = OPERATORS.get(operator);
  if (known === undefined || (known.isGated === true && !rules.comparisonOperators)) return "unreadable";
  return known.matches(taint.value ?? "", value) ? "matches" : "differs";
}

/** Whether both texts are integers and the first is the smaller one. */
function isInOrder(smaller: string, larger: string): boolean {
  const [left, right] = [integerOf(smaller), integerOf(larger)];
  return left !== null && right !== null && left < right;
}

function integerOf(text: string): bigint | null {
  if (!DECIMAL.test(text)) return null;
  const integer = BigInt(text);
  return integer >= INT64_MIN && integer <= INT64_MAX ? integer : null;
}

/**
 * The tolerations that can be the first to match some NoExecute taint, in order (R8.34): a pod may carry thousands, and
 * a message holds 64 KiB. For every such taint the same toleration decides as in the full list. Dropped are those of
 * other effects, and behind one that matches all they do. One with an unknown operator or effect may match, so it is
 * kept and keeps the pod, whatever follows it.
 */
export function reducedTolerations(list: readonly Toleration[]): Toleration[] {
  const kept: Toleration[] = [];
  const keys = new Set<string>();
  const seen = new Set<string>();
  for (const toleration of list) {
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    if (!mayConcernNoExecute(effect) || keys.has(key)) continue;
    const match = JSON.stringify([key, operator === "" ? "Equal" : operator, value]);
    if (seen.has(match)) continue;
    kept.push(toleration);
    const isWhole = operator === "Exists" || !isKnownOperator(operator);
    if (isWhole && key === "") break;
    if (isWhole) keys.add(key);
    else seen.add(match);
  }
  return kept;
}
