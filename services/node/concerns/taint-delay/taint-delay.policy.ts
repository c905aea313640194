/**
 * Why a node that is Ready again keeps its NoSchedule taint for a while: its policy wants it Ready for `healthyDelay`,
 * or it was `flapping`. Nothing else waits for that: its NoExecute taint is removed at once, and its pods stay.
 */

import { Annotation, TaintEffect } from "../../../../protocols/names.ts";
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { NodePolicy } from "../../../../protocols/policy-set.ts";
import type { Instant } from "../../../domain/instant.ts";
import { readyConditionOf } from "../../../domain/node-conditions.ts";
import { readyTransitionsText, TRANSITIONS_MAX } from "../../../domain/ready-transitions.ts";
import { publishedInstant } from "../../published-instant.ts";
import { READINESS_KEYS } from "../../taint.policy.ts";

/** The settings that delay the removal of a taint. */
export type TaintDelaySettings = Pick<NodePolicy, "healthyDelayMs" | "flapping">;

/**
 * A NoSchedule taint that is kept: by which field, or `policies` while these are not known, and until when, monotonic.
 */
export interface TaintDelay {
  readonly field: "healthyDelay" | "flapping" | "policies";
  readonly untilMs: number;
}

/** What is known of a node's readiness. */
export interface ReadyHistory {
  /** When the Ready condition last changed, on the monotonic clock. */
  readonly sinceMs: number;
  /** When it changed to or from True, in epoch milliseconds, in order. */
  readonly transitionsAt: readonly number[];
}

/** A delay as it is published: its end on the wall clock. */
export interface PublishedDelay {
  readonly field: string;
  readonly untilAt: number;
}

/** How long after a start a taint that some policy might keep waits for the policies, in milliseconds. */
const UNKNOWN_MS = 30_000;
/** Instants in the annotation are whole seconds. */
const STEP_MS = 1000;
/** How far a kubelet's clock may be off before its transitions are distinguished from those that were recorded. */
const CLOCKS_APART_MS = 10_000;
/** How far apart two processes may see one transition: the watch of one may lag behind. */
const OBSERVED_APART_MS = 10_000;
/** A record this much later than a kubelet's stamp is not of the same transition. */
const UNSEEN_APART_MS = CLOCKS_APART_MS + OBSERVED_APART_MS;

/**
 * What delays the removal of a Ready node's NoSchedule taint the longest; null if nothing does, and for any other node.
 */
export function taintDelayOf(
  node: Pick<ObservedNode, "conditions">,
  { healthyDelayMs, flapping }: TaintDelaySettings,
  { sinceMs, transitionsAt }: ReadyHistory,
  { nowMs, wallMs }: Instant,
): TaintDelay | null {
  if (readyConditionOf(node)?.status !== "True") return null;
  const flappingAt = flapping === null ? null : flappingUntilAt(possibleAt(transitionsAt, wallMs), flapping);
  const delays: TaintDelay[] = [];
  if (healthyDelayMs !== null) delays.push({ field: "healthyDelay", untilMs: sinceMs + healthyDelayMs });
  if (flappingAt !== null) delays.push({ field: "flapping", untilMs: nowMs + (flappingAt - wallMs) });
  const [longest] = delays.sort((left, right) => right.untilMs - left.untilMs);
  return longest === undefined || longest.untilMs <= nowMs ? null : longest;
}

/** The transitions without those in the future, by a clock that was ahead: they would keep a taint until then. */
export function possibleAt(transitionsAt: readonly number[], wallMs: number): readonly number[] {
  return transitionsAt.filter((at) => at <= wallMs + CLOCKS_APART_MS);
}

/** The delay while the policy of a Ready node is not known: for some time after the start every taint is kept. */
export function unknownDelay(
  node: Pick<ObservedNode, "conditions">,
  { beganMs, nowMs }: { readonly beganMs: number; readonly nowMs: number },
): TaintDelay | null {
  const untilMs = beganMs + UNKNOWN_MS;
  return nowMs < untilMs && readyConditionOf(node)?.status === "True" ? { field: "policies", untilMs } : null;
}

/** Whether a node carries a taint that a delay keeps. */
export function carriesDelayedTaint({ taints }: Pick<ObservedNode, "taints">): boolean {
  return taints.some(({ key, effect }) => effect === TaintEffect.noSchedule && READINESS_KEYS.includes(key));
}

/** What is published of a delay; `before` was published last. */
export function publishedDelay(
  before: PublishedDelay | null,
  delay: TaintDelay | null,
  now: Instant,
): PublishedDelay | null {
  if (delay === null) return null;
  const { field, untilMs } = delay;
  return { field, untilAt: publishedInstant(before?.field === field ? before.untilAt : undefined, untilMs, now) };
}

/**
 * Until when a node counts as flapping, in epoch milliseconds: holdDown after the last transition of too many. Example:
 * with 4 transitions within 10 min and a holdDown of 30 min, transitions at 10:00, 10:02, 10:05 and 10:08 make the node
 * flapping until 10:38. If the last one comes at 10:10, ten minutes after the first, the node is not flapping.
 */
export function flappingUntilAt(
  transitionsAt: readonly number[],
  { transitions, windowMs, holdDownMs }: NonNullable<TaintDelaySettings["flapping"]>,
): number | null {
  for (let last = transitionsAt.length - 1; last >= transitions - 1; last--) {
    const lastAt = transitionsAt[last] ?? 0;
    const firstAt = transitionsAt[last - transitions + 1] ?? 0;
    if (lastAt - firstAt < windowMs) return lastAt + holdDownMs;
  }
  return null;
}

/** The transitions with more of them, to whole seconds; the latest ones. */
export function withTransitions(known: readonly number[], more: readonly number[]): readonly number[] {
  if (more.length === 0) return known;
  const rounded = more.map((at) => Math.floor(at / STEP_MS) * STEP_MS);
  if (rounded.every((at) => known.includes(at))) return known;
  return [...new Set([...known, ...rounded])].sort((left, right) => left - right).slice(-TRANSITIONS_MAX);
}

/**
 * The transitions with those of the node's annotation; `recordedBefore` are those it had before. While a shard has two
 * owners, on a split bus or in a takeover, both see each transition at different instants, and each writes over the
 * other's record. A new instant of the record that is at most 10 s from one that the record lacks is the same
 * transition. It counts once, from the earlier observation, so both processes reach the same record. Example: one
 * process sees a transition at 10:00:03, the other at 10:00:05, and each records its own. After reading each other's
 * record both keep 10:00:03.
 */
export function withRecorded(
  known: readonly number[],
  recorded: readonly number[],
  recordedBefore: readonly number[],
): readonly number[] {
  const others = recorded.filter((at) => !known.includes(at) && !recordedBefore.includes(at));
  if (others.length === 0) return known;
  const unrecorded = new Set(known.filter((at) => !recorded.includes(at)));
  const merged = new Set(known);
  for (const at of others) {
    const same = nearestTo(at, unrecorded);
    if (same !== null) unrecorded.delete(same);
    if (same !== null && at < same) merged.delete(same);
    if (same === null || at < same) merged.add(at);
  }
  return withTransitions([], [...merged]);
}

/** The instant that is nearest to another one and may be the same transition; null for none. */
function nearestTo(at: number, instants: ReadonlySet<number>): number | null {
  const apartMs = (instant: number): number => Math.abs(instant - at);
  const [nearest] = [...instants].sort((left, right) => apartMs(left) - apartMs(right));
  return nearest !== undefined && apartMs(nearest) <= OBSERVED_APART_MS ? nearest : null;
}

/**
 * The transitions of a node that is found at a start: the recorded ones, and its last one if that is not recorded,
 * because no process followed the node then. A Ready node without a record may just have joined, so its last one does
 * not count. A node that is down without the taint has just failed: the owner that adds the taint records the failure
 * too. A time in the future comes from a wrong clock and is ignored.
 */
export function foundTransitions(
  node: Pick<ObservedNode, "conditions" | "taints" | "readyTransitionsAt">,
  wallMs: number,
): readonly number[] {
  const recorded = possibleAt(node.readyTransitionsAt ?? [], wallMs);
  const ready = readyConditionOf(node);
  const changedAt = ready?.transitionAt ?? null;
  if (ready === null || changedAt === null || changedAt > wallMs) return recorded;
  const isNewFailure = !carriesDelayedTaint(node);
  const isUnfollowed = ready.status === "True" ? recorded.length > 0 : isNewFailure;
  const isLater = changedAt - (recorded.at(-1) ?? Number.NEGATIVE_INFINITY) > CLOCKS_APART_MS;
  return isUnfollowed && isLater ? withTransitions(recorded, [changedAt]) : recorded;
}

/**
 * The transitions that an observed state adds to the known ones. A process that was cut off may find the status that it
 * knew, and a record of another process of a transition since. Then the status has changed once more, by the kubelet's
 * stamp. Example: this process knows NotReady since 10:00, the other one recorded at 10:02 that the node was Ready, and
 * now it is NotReady since 10:03, without the taint.
 */
export function observedTransitions(
  before: Pick<ObservedNode, "conditions" | "readyTransitionsAt">,
  after: Pick<ObservedNode, "conditions" | "readyTransitionsAt">,
  known: readonly number[],
  wallMs: number,
): readonly number[] {
  if (isTransition(before, after)) return [wallMs];
  const [fromAt, changedAt] = [before, after].map((node) => readyConditionOf(node)?.transitionAt ?? null);
  const recordedAt = possibleAt(after.readyTransitionsAt ?? [], wallMs).at(-1);
  if (fromAt == null || changedAt == null || recordedAt === undefined || changedAt > wallMs) return [];
  const isKnown = before.readyTransitionsAt?.includes(recordedAt) || nearestTo(recordedAt, new Set(known)) !== null;
  const isBetween = recordedAt - fromAt > UNSEEN_APART_MS && changedAt - recordedAt > CLOCKS_APART_MS;
  return !isKnown && isBetween ? [changedAt] : [];
}

/** Whether a node's Ready condition changed to or from True. A node without the condition has made no transition. */
function isTransition(before: Pick<ObservedNode, "conditions">, after: Pick<ObservedNode, "conditions">): boolean {
  const [from, to] = [before, after].map((node) => readyConditionOf(node)?.status);
  return from !== undefined && to !== undefined && (from === "True") !== (to === "True");
}

/**
 * The change of the annotation that keeps the transitions; null for none. It is written only for a new instant, and
 * then old instants are dropped; future ones are dropped at once. Without the setting the annotation is removed.
 */
export function transitionsChangeOf(
  { readyTransitionsAt }: Pick<ObservedNode, "readyTransitionsAt">,
  flapping: TaintDelaySettings["flapping"],
  transitionsAt: readonly number[],
  wallMs: number,
): Readonly<Record<string, string | null>> | null {
  if (flapping === null) return readyTransitionsAt === undefined ? null : { [Annotation.readyTransitions]: null };
  const oldestAt = wallMs - flapping.windowMs - flapping.holdDownMs;
  const wanted = possibleAt(transitionsAt, wallMs).filter((at) => at > oldestAt);
  const recorded = readyTransitionsAt ?? [];
  if (wanted.length === 0) return readyTransitionsAt === undefined ? null : { [Annotation.readyTransitions]: null };
  const arePossible = possibleAt(recorded, wallMs).length === recorded.length;
  if (arePossible && wanted.every((at) => recorded.includes(at))) return null;
  return { [Annotation.readyTransitions]: readyTransitionsText(wanted) };
}
