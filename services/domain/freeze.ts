/** Whether a node is frozen, by which field, and when it was: by its policy, or with all nodes. It reads no clock. */
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import { NODE_POLICY_API } from "../../protocols/node-policy.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type {
  Freezes,
  FrozenInterval,
  NodePolicy,
  PauseRequest,
  PolicyOfNode,
  PolicySet,
} from "../../protocols/policy-set.ts";
import { frozenAt, mergedIntervals } from "./frozen-time.ts";
import { policyOf } from "./node-policy.ts";

/** What freezes a node. */
export interface Freeze {
  /** The object and its field, as in `NodePolicy gpu: spec.pauseRequests (oncall: switch maintenance)`. */
  readonly field: string;
  /** When it ends by what is known, in epoch milliseconds; null when nobody said. */
  readonly untilAt: number | null;
}

/** How a node is frozen. */
export interface NodeFreeze {
  /** When it was and is, on the API's clock, in order and apart. */
  readonly frozen: readonly FrozenInterval[];
  /** What freezes it now; null for nothing. */
  readonly freeze: Freeze | null;
}

const NOT_FROZEN: NodeFreeze = { frozen: [], freeze: null };
/** What is named in place of a field while the policy of a node is not known. */
export const POLICY_UNKNOWN = "the node's policy is not known yet";
/** Until the policies are known, and the labels that they select by, any of them may freeze the node. */
const UNKNOWN: Freeze = { field: POLICY_UNKNOWN, untilAt: null };

/** How a node is frozen at an instant of the API's clock. `set` is null while the policies are not known. */
export function nodeFreezeOf(
  node: Pick<ObservedNode, "labels" | "policyLabels">,
  set: PolicySet | null,
  at: number,
): NodeFreeze {
  if (set === null) return { frozen: [], freeze: UNKNOWN };
  if (set.policies.length === 0 && set.everywhere.frozen.length === 0) return NOT_FROZEN;
  const resolved = policyOf(node, set);
  if (resolved.kind === "unknown") return { frozen: set.everywhere.frozen, freeze: UNKNOWN };
  return { frozen: frozenIntervals(resolved, set), freeze: freezeAt(resolved, set, at) };
}

/** Of a node with conflicting policies each freezes it. */
function frozenIntervals(resolved: PolicyOfNode, set: PolicySet): readonly FrozenInterval[] {
  const own = policiesIn(resolved, set).flatMap(({ frozen }) => frozen);
  if (own.length === 0) return set.everywhere.frozen;
  return mergedIntervals([...own, ...set.everywhere.frozen]);
}

function freezeAt(resolved: PolicyOfNode, set: PolicySet, at: number): Freeze | null {
  const untilAt = frozenAt(frozenIntervals(resolved, set), at)?.toAt ?? null;
  if (frozenAt(set.everywhere.frozen, at) !== null) {
    const { kind, name } = FREEZE_CONFIG_MAP;
    return { field: `${kind} ${name}: pauseRequests${requester(set.everywhere, at)}`, untilAt };
  }
  const policy = policiesIn(resolved, set).find(({ frozen }) => frozenAt(frozen, at) !== null);
  if (policy === undefined) return null;
  const field = freezesByMode(policy) ? `spec.mode (${policy.mode})` : `spec.pauseRequests${requester(policy, at)}`;
  return { field: `${NODE_POLICY_API.kind} ${policy.name}: ${field}`, untilAt };
}

function policiesIn(resolved: PolicyOfNode, set: PolicySet): readonly NodePolicy[] {
  if (resolved.kind === "policy") return [resolved.policy];
  return resolved.kind === "conflict" ? set.policies.filter(({ name }) => resolved.names.includes(name)) : [];
}

/** Whether the mode of a policy freezes its nodes. */
export function freezesByMode({ mode }: Pick<NodePolicy, "mode">): boolean {
  return mode === "Freeze";
}

/** The requests that freeze nodes at an instant. */
export function activeRequests({ pauseRequests }: Pick<Freezes, "pauseRequests">, at: number): readonly PauseRequest[] {
  return pauseRequests.filter(
    ({ sinceAt, untilAt }) => (sinceAt === null || sinceAt <= at) && (untilAt === null || untilAt > at),
  );
}

function requester(freezes: Freezes, at: number): string {
  const [active] = activeRequests(freezes, at);
  if (active === undefined) return "";
  return ` (${active.name}${active.reason === null ? "" : `: ${active.reason}`})`;
}
