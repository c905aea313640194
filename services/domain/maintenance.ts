/**
 * `maintenance` of a policy: while a node has one of the named conditions with status True, it is frozen, at most for
 * `atMost` from the first observation of each. Such a maintenance window is an interval of frozen time (decision 8),
 * which the annotation `vigil.v1/holds` of the node keeps. It reads no clock. Example: with `atMost: 4h` a condition
 * that is True from 12:00 to 13:00 freezes the node for an hour; one that stays True freezes it until 16:00.
 */
import type { ConditionHold, ObservedNode } from "../../protocols/objects.ts";
import type { FrozenInterval, NodePolicy } from "../../protocols/policy-set.ts";
import { mergedIntervals } from "./paused-time/frozen-time.ts";

/** The parts of a node that say which maintenance freezes it. */
export type MaintainedNode = Pick<ObservedNode, "labels" | "policyLabels"> &
  Partial<Pick<ObservedNode, "conditions" | "holds">>;

/** The maintenance that freezes a node now. */
export interface PresentMaintenance {
  readonly types: string[];
  readonly sinceAt: number;
  readonly untilAt: number;
}

/**
 * When maintenance has frozen a node and freezes it, at an instant of the API's clock; merged. A window that is about
 * to be recorded begins now, and one whose end is about to be recorded ends now: a window gets longer, never shorter.
 */
export function maintenanceIntervals(
  node: MaintainedNode,
  policies: readonly Pick<NodePolicy, "maintenance">[],
  at: number,
): readonly FrozenInterval[] {
  const recorded = (node.holds ?? []).map((window) => ({
    fromAt: window.fromAt,
    toAt: endOf(window, node, { policies, at }),
  }));
  const present = openWindows(node, policies, at).map(({ fromAt, untilAt }) => ({ fromAt, toAt: untilAt }));
  return recorded.length + present.length === 0 ? [] : mergedIntervals([...recorded, ...present]);
}

/** The maintenance that freezes a node at an instant; null for none. */
export function presentMaintenance(
  node: MaintainedNode,
  policies: readonly Pick<NodePolicy, "maintenance">[],
  at: number,
): PresentMaintenance | null {
  const open = openWindows(node, policies, at).filter(({ untilAt }) => untilAt > at);
  if (open.length === 0) return null;
  return {
    types: [...new Set(open.map(({ type }) => type))],
    sinceAt: Math.min(...open.map(({ fromAt }) => fromAt)),
    untilAt: Math.max(...open.map(({ untilAt }) => untilAt)),
  };
}

interface OpenWindow {
  readonly type: string;
  readonly fromAt: number;
  readonly untilAt: number;
}

/** The conditions of the node that a policy names for maintenance, whether their time is over or not. */
function openWindows(
  { conditions = [], holds = [] }: MaintainedNode,
  policies: readonly Pick<NodePolicy, "maintenance">[],
  at: number,
): OpenWindow[] {
  return policies.flatMap(({ maintenance }) =>
    (maintenance?.hold ?? []).flatMap((type): OpenWindow[] => {
      if (!conditions.some((condition) => condition.type === type && condition.status === "True")) return [];
      const fromAt = Math.min(at, holds.find((window) => window.type === type && window.toAt === null)?.fromAt ?? at);
      return [{ type, fromAt, untilAt: fromAt + (maintenance?.atMostMs ?? 0) }];
    }),
  );
}

/**
 * When a recorded window ended: never in the future. An open window whose condition is gone ends when that is recorded.
 */
function endOf(
  { type, fromAt, toAt }: ConditionHold,
  { conditions = [] }: MaintainedNode,
  { policies, at }: { readonly policies: readonly Pick<NodePolicy, "maintenance">[]; readonly at: number },
): number {
  if (toAt !== null) return Math.min(toAt, at);
  const atMostMs = Math.max(
    ...policies.map(({ maintenance }) => (maintenance?.hold.includes(type) === true ? maintenance.atMostMs : 0)),
    0,
  );
  const isTrue = conditions.some((condition) => condition.type === type && condition.status === "True");
  if (atMostMs === 0) return at;
  return isTrue ? fromAt + atMostMs : Math.min(at, fromAt + atMostMs);
}
