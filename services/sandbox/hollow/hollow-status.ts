/** The status of a hollow node: a kubelet's own setters, plus ordered conditions. Pure. */
import { ConditionType } from "../../../protocols/names.ts";
import type { ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import { conditionOf, type NodeCondition, type NodeObject, withCondition } from "../../agent/node-object.ts";
import { initialNode } from "../../agent/registration.policy.ts";
import { computeStatus } from "../../agent/setters.ts";
import { apiTime } from "../../domain/api-time.ts";
import { type HollowNodeSpec, hollowSettings, hollowStats } from "./hollow-stats.ts";

/** Ordered conditions by type. */
export type OrderedConditions = ReadonlyMap<string, ConditionStatus>;

/** Conditions that the setters compute; other ordered ones are set directly. */
const COMPUTED: readonly string[] = [
  ConditionType.ready,
  ConditionType.memoryPressure,
  ConditionType.diskPressure,
  ConditionType.pidPressure,
];
const ORDERED = { reason: "HollowOrder", message: "a hollow node was ordered to show this" };

/** The node as its hollow kubelet registers it. */
export function hollowNode(spec: HollowNodeSpec, ordered: OrderedConditions, nowMs: number): NodeObject {
  return hollowStatus(initialNode(hollowSettings(spec), hollowStats(spec)), spec, ordered, nowMs);
}

/** A node with the status that its hollow kubelet computes. */
export function hollowStatus(
  node: NodeObject,
  spec: HollowNodeSpec,
  ordered: OrderedConditions,
  nowMs: number,
): NodeObject {
  const isTrue = (type: string) => ordered.get(type) === "True";
  const isReady = (ordered.get(ConditionType.ready) ?? "True") === "True";
  const { node: computed } = computeStatus(node, {
    stats: hollowStats(spec),
    settings: hollowSettings(spec),
    nowMs,
    pressures: {
      memory: isTrue(ConditionType.memoryPressure),
      disk: isTrue(ConditionType.diskPressure),
      pid: isTrue(ConditionType.pidPressure),
    },
    health: {
      runtime: isReady ? [] : ["container runtime is down"],
      network: [],
      shuttingDown: false,
    },
    reported: { unschedulable: node.spec?.unschedulable ?? false, reboot: true },
  });
  const others = [...ordered].filter(([type]) => !COMPUTED.includes(type));
  return others.reduce((result, [type, status]) => withOrdered(result, type, status, nowMs), computed);
}

function withOrdered(node: NodeObject, type: string, status: ConditionStatus, nowMs: number): NodeObject {
  const now = apiTime(nowMs);
  const before = conditionOf(node, type);
  const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now;
  return withCondition(node, { type, status, lastHeartbeatTime: now, lastTransitionTime, ...ORDERED });
}

/** The conditions that the hollow kubelet owns: computed or ordered. */
export function ownConditions(
  conditions: readonly NodeCondition[],
  ordered: OrderedConditions,
): readonly NodeCondition[] {
  return conditions.filter(({ type }) => COMPUTED.includes(type) || ordered.has(type));
}

/** A hollow kubelet's conditions, corrected by those at the API; the same array if they agree. */
export function correctedConditions(
  held: readonly NodeCondition[],
  observed: ObservedNode["conditions"],
): readonly NodeCondition[] {
  const shown = new Map(observed.map((condition) => [condition.type, condition.status]));
  if (held.every(({ type, status }) => shown.get(type) === status)) return held;
  return held.flatMap((condition) => {
    const status = shown.get(condition.type);
    return status === undefined ? [] : [{ ...condition, status }];
  });
}

/** The patch that posts these conditions. */
export function conditionsPatch(conditions: readonly NodeCondition[]): unknown {
  return { status: { conditions } };
}
