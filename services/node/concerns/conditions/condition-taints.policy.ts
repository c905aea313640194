/**
 * Which taints the conditions of a node require by `unhealthyConditions` of its policy, and which of Vigil's taints are
 * removed. Each rule and each taint has one state, which reports show too:
 *
 *   waiting ──duration──▶ due ──▶ tainted ──another status──▶ healing ──healthyDelay──▶ (the taint goes)
 *                                    └──no status any more──▶ missing (the taint stays)
 *
 * A taint that evicts is only `due` here: its zone adds it. Example: with a duration of 60 s and a healthyDelay of 300
 * s, DiskPressure=True at 10:00:00 makes the taint due at 10:01:00, and False at 10:20:00 removes it at 10:25:00. It
 * reads no clock.
 */

import { JUDGED_CONDITIONS_MAX, type JudgedCondition } from "../../../../protocols/judged.ts";
import { Annotation, isOwnTaintValue, TaintEffect } from "../../../../protocols/names.ts";
import type { ConditionSighting, ObservedNode, Taint, TaintId } from "../../../../protocols/objects.ts";
import type { NodePolicy, UnhealthyCondition } from "../../../../protocols/policy-set.ts";
import type { Profile } from "../../../../protocols/profile.ts";
import { conditionTaintsText, observationsText } from "../../../domain/condition-records.ts";
import type { Instant } from "../../../domain/instant.ts";
import { type OutageTime, silenceCountdownEndAt } from "../../../domain/paused-time/outages.ts";
import { isSameTaint, taintName } from "../../../domain/toleration.ts";
import { conditionTaintsOf, isHealed, rulesOfTaint, statusOf } from "../../../domain/unhealthy-conditions.ts";
import {
  type ConditionObservation,
  type ConditionObservations,
  recordOf,
  sinceAt,
  wantedRecord,
} from "./condition-observations.ts";

/** The fields of a policy that decide; a node without a policy has no rules. */
export type ConditionRules = Pick<NodePolicy, "unhealthyConditions" | "healthyDelayMs" | "maintenance">;

/** What is known of a node and its policy. */
export interface ConditionSituation {
  readonly node: ObservedNode;
  /** Null when several policies select the node: none of them applies. */
  readonly rules: ConditionRules | null;
  readonly observations: ConditionObservations;
  readonly evictionMode: Profile["evictionMode"];
  /** The outages in which its kubelet could not have reported that a condition is over; absent for none. */
  readonly outages?: OutageTime;
  readonly now: Instant;
}

type AddedTaint = TaintId & { readonly value?: string | undefined };

/** What the conditions of a node require. */
export interface ConditionPlan {
  /** Without those that evict. */
  readonly add: readonly AddedTaint[];
  readonly remove: readonly TaintId[];
  /** The change of Vigil's annotations; null for none. */
  readonly annotations: Readonly<Record<string, string | null>> | null;
  readonly judged: readonly JudgedCondition[];
  /** When the next taint is added or removed by time alone, in epoch milliseconds; infinity for never. */
  readonly nextAt: number;
}

/** What the conditions of a node require that no policy watches. */
export const NO_CONDITION_PLAN: ConditionPlan = {
  add: [],
  remove: [],
  annotations: null,
  judged: [],
  nextAt: Number.POSITIVE_INFINITY,
};

/** The rules of a node without a policy. */
export const NO_RULES: ConditionRules = { unhealthyConditions: [], healthyDelayMs: null, maintenance: null };

/** The conditions that a node's rules are about. */
export function typesOf({ unhealthyConditions, maintenance }: ConditionRules): readonly string[] {
  return [...new Set([...unhealthyConditions.map(({ type }) => type), ...(maintenance?.hold ?? [])])];
}

/** What the conditions of a node require now. */
export function conditionPlanOf(situation: ConditionSituation): ConditionPlan {
  const { node, rules } = situation;
  const isRecorded = node.conditionSightings !== undefined || node.conditionTaints !== undefined;
  if (!isRecorded && (rules === null || rules.unhealthyConditions.length === 0)) return NO_CONDITION_PLAN;
  const required = ruleStates(situation);
  const present = conditionTaintsOf(node).flatMap((taint) => presentState(taint, situation) ?? []);
  const judged = [...required, ...present.flatMap(({ state }) => (state === null ? [] : [state]))];
  const due = required.filter(({ state, taint }) => state === "due" && taint.effect !== TaintEffect.noExecute);
  return {
    add: distinct(due.map(({ taint }) => taint)),
    remove: present.flatMap(({ taint, state }) => (state === null ? [taint] : [])),
    annotations: annotationsOf(situation, judged),
    judged: judged.slice(0, JUDGED_CONDITIONS_MAX),
    nextAt: Math.min(...judged.map(({ untilAt = Number.POSITIVE_INFINITY }) => untilAt), Number.POSITIVE_INFINITY),
  };
}

/**
 * The rules that a condition of the node meets. In direct mode no taint evicts, so rules with such a taint are skipped.
 */
function ruleStates(situation: ConditionSituation): JudgedCondition[] {
  const { rules, observations, evictionMode } = situation;
  return (rules?.unhealthyConditions ?? []).flatMap((rule): JudgedCondition[] => {
    const observation = observations.get(rule.type);
    const isIdle = evictionMode === "direct" && rule.taint.effect === TaintEffect.noExecute;
    if (isIdle || observation?.status !== rule.status) return [];
    return [ruleState(rule, observation, situation)];
  });
}

function ruleState(
  rule: UnhealthyCondition,
  observation: ConditionObservation,
  { node, now, outages }: ConditionSituation,
): JudgedCondition {
  const { type, status, durationMs } = rule;
  const { key, effect, value } = rule.taint;
  const recorded = recordOf(node, type, observation, now);
  const since = recorded?.since ?? sinceAt(observation, now);
  const judged = { type, status, since, taint: { key, effect, value } };
  if (node.taints.some((taint) => isSameTaint(taint, rule.taint))) return { ...judged, state: "tainted" };
  // Outages delay only what evicts: a NoSchedule taint is removed as soon as the kubelet can report that the condition
  // is over.
  const paused = effect === TaintEffect.noExecute && outages !== undefined ? { outages } : {};
  const dueAt = silenceCountdownEndAt(since, durationMs, paused);
  // Without its record a taint would not be explained after a restart, and its writer refuses it.
  if (recorded !== null && dueAt <= now.wallMs) return { ...judged, state: "due" };
  return { ...judged, state: "waiting", ...(dueAt > now.wallMs && Number.isFinite(dueAt) ? { untilAt: dueAt } : {}) };
}

/**
 * The state of a taint that Vigil added; null for one that its rule still requires. If the state in it is null, the
 * taint is removed.
 */
function presentState(
  taint: Taint,
  situation: ConditionSituation,
): { readonly taint: TaintId; readonly state: JudgedCondition | null } | null {
  const { node, rules, evictionMode } = situation;
  const id = { key: taint.key, effect: taint.effect };
  const type = node.conditionTaints?.[taintName(taint)] ?? "";
  const status = statusOf(node, type);
  const judged = { type, ...(status === null ? {} : { status }), taint: id };
  const isForeign = evictionMode === "direct" && taint.effect === TaintEffect.noExecute;
  if (rules === null || isForeign || !isOwnTaintValue(taint.value)) {
    return { taint: id, state: { ...judged, state: "left" } };
  }
  const own = rulesOfTaint(rules, taint);
  if (own.some((rule) => statusOf(node, rule.type) === rule.status)) return null;
  const causes = own.filter((rule) => rule.type === type);
  if (causes.some((rule) => !isHealed(rule, status))) return { taint: id, state: { ...judged, state: "missing" } };
  if (causes.length === 0) return { taint: id, state: null };
  const healing = countedTypes(own, type, node).flatMap((each) => healingOf(each, id, situation) ?? []);
  const [longest = null] = healing.sort((left, right) => (right.untilAt ?? 0) - (left.untilAt ?? 0));
  return { taint: id, state: longest };
}

/**
 * The conditions whose healing a taint waits for. These are conditions of the rules that share it whose time is
 * recorded, because they required it too.
 */
function countedTypes(own: readonly UnhealthyCondition[], cause: string, node: ObservedNode): readonly string[] {
  const recorded = (node.conditionSightings ?? []).map(({ type }) => type);
  const counted = recorded.filter((type) => own.some((rule) => rule.type === type));
  return counted.length === 0 ? [cause] : counted;
}

/** A taint that is removed healthyDelay after a condition healed; null once that time is over. */
function healingOf(
  type: string,
  taint: TaintId,
  { node, rules, observations, now }: ConditionSituation,
): JudgedCondition | null {
  const delayMs = rules?.healthyDelayMs ?? 0;
  const observation = observations.get(type);
  if (delayMs === 0 || observation === undefined || observation.status === null) return null;
  const since = recordOf(node, type, observation, now)?.since ?? sinceAt(observation, now);
  const untilAt = Math.min(since, now.wallMs) + delayMs;
  if (untilAt <= now.wallMs) return null;
  return { type, status: observation.status, since, taint, state: "healing", untilAt };
}

/** The records that the node should have: of each condition whose time counts, and of the taints that it carries. */
function annotationsOf(
  situation: ConditionSituation,
  judged: readonly JudgedCondition[],
): ConditionPlan["annotations"] {
  const { node, rules, observations, now } = situation;
  // If several policies select the node, none applies, and what one of them began goes on.
  if (rules === null) return null;
  const counted = new Set(judged.filter(({ since }) => since !== undefined).map(({ type }) => type));
  const wanted = [...counted].flatMap((type) => {
    const observation = observations.get(type);
    if (observation === undefined || observation.status === null) return [];
    return [wantedRecord(node, type, { ...observation, status: observation.status }, now)];
  });
  const changes = { ...recordsChange(node, wanted), ...taintsChange(node) };
  return Object.keys(changes).length === 0 ? null : changes;
}

function recordsChange(
  { conditionSightings }: ObservedNode,
  wanted: readonly ConditionSighting[],
): Readonly<Record<string, string | null>> {
  if (wanted.length === 0) return conditionSightings === undefined ? {} : { [Annotation.conditions]: null };
  const recorded = conditionSightings ?? [];
  const isExact =
    wanted.length === recorded.length && wanted.every((each) => recorded.some((one) => isSame(one, each)));
  return isExact ? {} : { [Annotation.conditions]: observationsText(wanted) };
}

/** If a user removes a taint and its record stays, the next taint of that name counts as Vigil's. */
function taintsChange(node: ObservedNode): Readonly<Record<string, string | null>> {
  const { conditionTaints = null, taintsOmitted = 0 } = node;
  if (conditionTaints === null || taintsOmitted > 0) return {};
  const present = new Set(conditionTaintsOf(node).map(taintName));
  const kept = Object.entries(conditionTaints).filter(([name]) => present.has(name));
  const isExact = kept.length > 0 && kept.length === Object.keys(conditionTaints).length;
  return isExact ? {} : { [Annotation.conditionTaints]: conditionTaintsText(Object.fromEntries(kept)) };
}

function isSame(left: ConditionSighting, right: ConditionSighting): boolean {
  const isSameStatus = left.type === right.type && left.status === right.status;
  return isSameStatus && left.since === right.since && left.transitionAt === right.transitionAt;
}

function distinct(taints: readonly AddedTaint[]): AddedTaint[] {
  return taints.filter((taint, index) => taints.findIndex((each) => isSameTaint(each, taint)) === index);
}
