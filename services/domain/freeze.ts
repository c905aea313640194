/** Whether a node is frozen, by which field, and when it was: by its policy, or with all nodes. It reads no clock. */
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import { NODE_POLICY_API } from "../../protocols/node-policy.ts";
import type {
  Freezes,
  FrozenInterval,
  NodePolicy,
  PauseRequest,
  PolicyOfNode,
  PolicySet,
} from "../../protocols/policy-set.ts";
import { type MaintainedNode, maintenanceIntervals, presentMaintenance } from "./maintenance.ts";
import { policyOf, selectingPolicies } from "./node-policy.ts";
import { frozenAt, mergedIntervals } from "./paused-time/frozen-time.ts";

/** What freezes a node. */
export interface Freeze {
  /** The object and its field, as in `NodePolicy gpu: spec.pauseRequests (oncall: switch maintenance)`. */
  readonly field: string;
  /** When it ends by what is known, in epoch milliseconds; null when no request names an end. */
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
export function nodeFreezeOf(node: MaintainedNode, set: PolicySet | null, at: number): NodeFreeze {
  if (set === null) return { frozen: [], freeze: UNKNOWN };
  if (set.policies.length === 0 && set.everywhere.frozen.length === 0 && node.holds === undefined) return NOT_FROZEN;
  const resolved = policyOf(node, set);
  const maintenance = maintenanceIntervals(node, selectingPolicies(resolved, set), at);
  const isUnknown = resolved.kind === "unknown";
  const freezes = isUnknown ? set.everywhere.frozen : frozenIntervals(resolved, set);
  const frozen = maintenance.length === 0 ? freezes : mergedIntervals([...freezes, ...maintenance]);
  if (isUnknown) return { frozen, freeze: UNKNOWN };
  const freeze = freezeAt(resolved, set, at) ?? maintenanceAt(node, resolved, set, at);
  if (freeze === null || maintenance.length === 0) return { frozen, freeze };
  // A request and maintenance may both freeze it: the later end counts. A request until 14:00 and maintenance until
  // 15:00 freeze it until 15:00.
  return { frozen, freeze: { ...freeze, untilAt: frozenAt(frozen, at)?.toAt ?? null } };
}

/** The conditions of its policy's `maintenance` freeze a node as a request to pause would. */
function maintenanceAt(node: MaintainedNode, resolved: PolicyOfNode, set: PolicySet, at: number): Freeze | null {
  for (const policy of selectingPolicies(resolved, set)) {
    const maintenance = presentMaintenance(node, [policy], at);
    if (maintenance === null) continue;
    const field = `spec.maintenance (${maintenance.types.join(", ")})`;
    return { field: `${NODE_POLICY_API.kind} ${policy.name}: ${field}`, untilAt: maintenance.untilAt };
  }
  return null;
}

/** If several policies select a node, each of them freezes it. */
function frozenIntervals(resolved: PolicyOfNode, set: PolicySet): readonly FrozenInterval[] {
  const own = selectingPolicies(resolved, set).flatMap(({ frozen }) => frozen);
  if (own.length === 0) return set.everywhere.frozen;
  return mergedIntervals([...own, ...set.everywhere.frozen]);
}

function freezeAt(resolved: PolicyOfNode, set: PolicySet, at: number): Freeze | null {
  const untilAt = frozenAt(frozenIntervals(resolved, set), at)?.toAt ?? null;
  if (frozenAt(set.everywhere.frozen, at) !== null) return { field: fieldEverywhere(set.everywhere, at), untilAt };
  const policy = selectingPolicies(resolved, set).find(({ frozen }) => frozenAt(frozen, at) !== null);
  if (policy === undefined) return null;
  const field = freezesByMode(policy) ? `spec.mode (${policy.mode})` : `spec.pauseRequests${requester(policy, at)}`;
  return { field: `${NODE_POLICY_API.kind} ${policy.name}: ${field}`, untilAt };
}

/** How a request of a policy that is not in force is named among those of all nodes. */
export function unplacedName(policy: string, request: string): string {
  return `${UNPLACED_PREFIX}${policy}: ${request}`;
}

const UNPLACED_PREFIX = `${NODE_POLICY_API.kind} `;

function fieldEverywhere(everywhere: Freezes, at: number): string {
  const [active] = activeRequests(everywhere, at);
  if (active?.name.startsWith(UNPLACED_PREFIX) === true) return active.name;
  const { kind, name } = FREEZE_CONFIG_MAP;
  return `${kind} ${name}: pauseRequests${requester(everywhere, at)}`;
}

/** Whether the mode of a policy freezes its nodes. */
export function freezesByMode({ mode }: Pick<NodePolicy, "mode">): boolean {
  return mode === "Freeze";
}

/** Whether the written mode of a policy freezes its nodes. One that cannot be read does, because that does no harm. */
export function freezesAsWritten(mode: unknown): boolean {
  return mode !== undefined && mode !== "Enforce";
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
