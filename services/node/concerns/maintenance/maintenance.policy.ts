/**
 * The record of the maintenance windows of a node: the times in which a condition blocks its evictions, by
 * `maintenance` of each policy that selects it. This file decides what to write when a window begins or ends. A
 * countdown that overlaps a window needs the record as long as it runs. Example: a node is tainted at 09:58, and
 * maintenance lasts from 10:00 to 10:20. A pod that tolerates 300 s goes at 10:23. It reads no clock.
 */

import { ConditionType, TaintEffect } from "../../../../protocols/names.ts";
import type { ConditionHold, ObservedNode } from "../../../../protocols/objects.ts";
import type { Maintenance } from "../../../../protocols/policy-set.ts";
import { maintenanceWindowsText } from "../../../domain/condition-records.ts";
import type { Instant } from "../../../domain/instant.ts";
import { boundedIntervals } from "../../../domain/paused-time/frozen-time.ts";
import { statusOf } from "../../../domain/unhealthy-conditions.ts";
import { sinceAt } from "../conditions/condition-observations.ts";
import type { ConditionSituation } from "../conditions/condition-taints.policy.ts";

/** A window without an observation of its condition ends at a whole second, so that it is requested once. */
const STEP_MS = 1000;
/** How far ahead the clock of another process may be when it records the end of a window, in milliseconds. */
const CLOCKS_APART_MS = 10_000;

/** What is known of a node and its policy. */
export interface MaintenanceSituation
  extends Pick<ConditionSituation, "node" | "observations" | "evictionMode" | "now"> {
  /**
   * The field of each policy that selects the node and has it. If several conflict, each of them blocks its evictions.
   */
  readonly maintenances: readonly Maintenance[];
  /** How many ended windows are kept at most; beyond that the two closest become one. */
  readonly endedHoldsMax: number;
}

/** The new value of Annotation.holds, null to remove it; undefined if it is up to date. */
export function windowsChange(situation: MaintenanceSituation): string | null | undefined {
  const { node, maintenances } = situation;
  const recorded = node.holds;
  if (recorded === undefined && maintenances.length === 0) return undefined;
  const wanted = [...endedWindows(situation), ...openWindows(situation)];
  const before = recorded === undefined || recorded.length === 0 ? null : maintenanceWindowsText(recorded);
  const after = maintenanceWindowsText(wanted);
  if (after === before && recorded?.length !== 0) return undefined;
  return after;
}

/** The types of conditions that block evictions of a node. */
export function maintenanceTypes(maintenances: readonly Maintenance[]): readonly string[] {
  return [...new Set(maintenances.flatMap(({ hold }) => hold))];
}

/** The windows that last: each begins when any process first saw its condition. */
function openWindows({ node, maintenances, observations, now }: MaintenanceSituation): ConditionHold[] {
  return maintenanceTypes(maintenances).flatMap((type): ConditionHold[] => {
    if (statusOf(node, type) !== "True") return [];
    const observation = observations.get(type);
    const seenAt = observation === undefined ? now.wallMs : sinceAt(observation, now);
    const open = openOf(node, type);
    const isPossible = open !== undefined && open.fromAt <= now.wallMs + STEP_MS && open.fromAt >= node.createdAt;
    return [{ type, fromAt: isPossible ? open.fromAt : seenAt, toAt: null }];
  });
}

/** The windows that have ended, as long as a countdown may have overlapped them. */
function endedWindows(situation: MaintenanceSituation): ConditionHold[] {
  const { node, maintenances, evictionMode } = situation;
  const ready = statusOf(node, ConditionType.ready);
  const isTainted = node.taints.some(({ effect }) => effect === TaintEffect.noExecute);
  // `outOfService.after` counts from the silence, before any taint.
  const isCounting = evictionMode === "direct" ? ready !== "True" : isTainted || ready === "Unknown";
  if (!isCounting) return [];
  const ended = (node.holds ?? []).flatMap((window): ConditionHold[] => {
    if (window.toAt !== null) return possibleWindow(window, situation.now);
    const isOpen = maintenanceTypes(maintenances).includes(window.type) && statusOf(node, window.type) === "True";
    return isOpen && openOf(node, window.type) === window ? [] : [{ ...window, toAt: endOf(window, situation) }];
  });
  const { endedHoldsMax } = situation;
  if (ended.length <= endedHoldsMax) return ended;
  const [first] = ended;
  return boundedIntervals(ended, endedHoldsMax).map(({ fromAt, toAt }) => ({ type: first?.type ?? "", fromAt, toAt }));
}

/** A window whose recorded end is in the future, by a wrong clock, ends now: it would stop countdowns until then. */
function possibleWindow(window: ConditionHold, { wallMs }: Instant): ConditionHold[] {
  if (window.toAt === null || window.toAt <= wallMs + CLOCKS_APART_MS) return [window];
  const toAt = Math.ceil(wallMs / STEP_MS) * STEP_MS;
  return window.fromAt < toAt ? [{ ...window, toAt }] : [];
}

function openOf({ holds = [] }: ObservedNode, type: string): ConditionHold | undefined {
  return holds.find((window) => window.type === type && window.toAt === null);
}

function endOf({ type, fromAt }: ConditionHold, { maintenances, observations, now }: MaintenanceSituation): number {
  const observation = observations.get(type);
  const isSeen = observation !== undefined && observation.status !== "True";
  const endAt = isSeen ? sinceAt(observation, now) : Math.ceil(now.wallMs / STEP_MS) * STEP_MS;
  const atMostMs = maintenances.flatMap(({ hold, atMostMs: most }) => (hold.includes(type) ? [most] : []));
  const latestAt = atMostMs.length === 0 ? endAt : fromAt + Math.max(...atMostMs);
  return Math.max(fromAt, Math.min(endAt, latestAt));
}
