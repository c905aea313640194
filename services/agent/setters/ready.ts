/** Sets the Ready condition, after the others because it depends on the capacity. */
import { ConditionType } from "../../../protocols/names.ts";
import { apiTime } from "../../domain/api-time.ts";
import { conditionOf, type NodeObject, withCondition } from "../node-object.ts";
import { type Health, type Setter, statusEvent } from "./setter.ts";

/** Sets Ready with reason and message always new, the transition time only with the status (R9.19). */
export const setReady: Setter = (node, { health, nowMs }) => {
  const now = apiTime(nowMs);
  const problems = problemsOf(node, health);
  const before = conditionOf(node, ConditionType.ready);
  const status = problems.length === 0 ? "True" : "False";
  const changed = before !== undefined && before.status !== status;
  const condition = {
    type: ConditionType.ready,
    status,
    lastHeartbeatTime: now,
    lastTransitionTime: before === undefined || changed ? now : (before.lastTransitionTime ?? now),
    reason: problems.length === 0 ? "KubeletReady" : "KubeletNotReady",
    message: problems.length === 0 ? "kubelet is posting ready status" : aggregate(problems),
  };
  const events = changed ? [statusEvent(node, status === "True" ? "NodeReady" : "NodeNotReady")] : [];
  return { node: withCondition(node, condition), events };
};

/** The reasons why the node is not Ready, in kubelet's order. */
function problemsOf(node: NodeObject, health: Health): readonly string[] {
  const missing = ["cpu", "memory", "pods", "ephemeral-storage"].filter(
    (resource) => node.status?.capacity?.[resource] === undefined,
  );
  return [
    ...health.runtime,
    ...health.network,
    ...(health.shuttingDown ? ["node is shutting down"] : []),
    ...(missing.length > 0 ? [`missing node capacity for resources: ${missing.join(", ")}`] : []),
  ];
}

/** One problem verbatim, several in brackets without repetition. */
function aggregate(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
