/** Decides the status of a NodePolicy object: its conditions, the numbers of its nodes, its limits and its freeze. */
import type { FreezeReport } from "../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import type { PolicyResource } from "../../protocols/ports.ts";
import { apiTime } from "../domain/api-time.ts";
import { budgetLeft } from "../domain/limited-policies.ts";
import { requirementsOf } from "../domain/node-policy.parse.ts";
import { kubeletLabelKeys } from "../domain/node-policy.ts";
import { listOf, recordOf, textOf } from "../structures/json.ts";
import type { RemediationProblem } from "./remediations/remediation-object.policy.ts";
import type { ResolvedPolicy } from "./resolved-policies.policy.ts";

/** The nodes of one policy. */
export interface PolicyNodes {
  /** How many have this policy, and how many of them are not ready. */
  readonly nodes: number;
  readonly unhealthy: number;
  /** A node that this policy and others select, with the names of those; null for none. */
  readonly conflict: { readonly count: number; readonly node: string; readonly others: readonly string[] } | null;
  /** Why its remediations do not work; null where they do, undefined for a policy without any. */
  readonly remediations?: RemediationProblem | null | undefined;
  /** A sentence for each memory that cannot be written; absent for none. */
  readonly unwritten?: readonly string[];
}

/** What a policy does now. */
export interface PolicyActivity {
  /**
   * What the owner of its limits published lately; null for a policy without limits, and where no process publishes
   * them. While a process that has just begun awaits them, the status keeps what it says.
   */
  readonly limits:
    | Pick<BodyOf<"judged.limits">, "condemned" | "inWindow" | "budget" | "permits" | "memory">
    | "awaited"
    | null;
  readonly hasBreaker: boolean;
  /** What blocks nodes under the operator's ceiling on all policies together; null for nothing. */
  readonly ceiling: BodyOf<"judged.limits">["holds"][number] | null;
  readonly freeze: FreezeReport | null;
}

interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** Longest message of a condition, in characters. */
const MESSAGE_MAX = 2048;

/** The status that the object should have; null when it has it already. */
export function statusChange(
  { generation, status }: Pick<PolicyResource, "generation" | "status">,
  policy: ResolvedPolicy,
  found: PolicyNodes & PolicyActivity,
  nowAt: number,
): Readonly<Record<string, unknown>> | null {
  const before = recordOf(status);
  const known = listOf(before.conditions).map(recordOf);
  const conditions = conditionsOf(policy, found).map((condition) => {
    const same = known.find(({ type, status: was }) => type === condition.type && was === condition.status);
    const lastTransitionTime = textOf(same?.lastTransitionTime) ?? apiTime(nowAt);
    return { ...condition, observedGeneration: generation, lastTransitionTime };
  });
  const { nodes, unhealthy } = found;
  const fields = {
    observedGeneration: generation,
    nodes,
    unhealthy,
    ...limitFields(found, nowAt),
    ...freezeFields(found),
  };
  const isSame =
    Object.entries(fields).every(([field, value]) => (before[field] ?? null) === value) &&
    sameConditions(known, conditions);
  return isSame ? null : { ...fields, conditions };
}

/** The fields about limits. One that is null is removed, and one that is not named stays. */
function limitFields(
  { limits, hasBreaker }: PolicyActivity,
  nowAt: number,
): Readonly<Record<string, string | number | null>> {
  if (limits === "awaited") return {};
  const breaker = hasBreaker ? limits : null;
  const isOpen = breaker !== null && breaker.memory.trippedAt !== null;
  return {
    condemned: limits?.condemned ?? null,
    recentlyCondemned: breaker?.inWindow ?? null,
    breaker: breaker === null ? null : isOpen ? "Open" : "Closed",
    // What was published lately may be over by now.
    breakerResetTime: timeOf(isOpen && (breaker.memory.resetAt ?? 0) > nowAt ? breaker.memory.resetAt : null),
    budgetLeft: limits === null ? null : budgetLeft(limits),
  };
}

function freezeFields({ freeze }: PolicyActivity): Readonly<Record<string, string | null>> {
  const by = freeze?.causes.map((cause) => cause.by).join(", ");
  return { frozenBy: by?.slice(0, MESSAGE_MAX) ?? null, frozenUntil: timeOf(freeze?.untilAt ?? null) };
}

function timeOf(at: number | null): string | null {
  return at === null ? null : apiTime(at);
}

function conditionsOf(
  { spec, problems }: ResolvedPolicy,
  { conflict, remediations, unwritten = [], ceiling }: PolicyNodes & Pick<PolicyActivity, "ceiling">,
): Condition[] {
  const message = problems.join("; ").slice(0, MESSAGE_MAX);
  const accepted = { type: "FieldsAccepted", status: "True", reason: "Accepted", message: "every field is honoured" };
  const refused = { type: "FieldsAccepted", status: "False", reason: "Invalid", message };
  const ready = { type: "Ready", status: "True", reason: "InForce", message: "the policy is in force" };
  const unready = { type: "Ready", status: "False", reason: "Refused", message: "the policy applies to no node" };
  return [
    spec === null ? unready : ready,
    problems.length === 0 ? accepted : refused,
    conflictCondition(conflict),
    ...(spec === null ? [] : unguardedCondition(spec.selector)),
    ...(remediations === undefined ? [] : [remediationsCondition(remediations)]),
    ...(unwritten.length === 0 ? [] : [unwrittenCondition(unwritten)]),
    ...(ceiling === null ? [] : [ceilingCondition(ceiling)]),
  ] as Condition[];
}

function conflictCondition(conflict: PolicyNodes["conflict"]): Condition {
  const type = "SelectorConflict";
  if (conflict === null) {
    return { type, status: "False", reason: "NoConflict", message: "no other policy selects the same nodes" };
  }
  const { count, node, others } = conflict;
  const more = count === 1 ? "" : ` and ${count - 1} more`;
  const message = `node ${node}${more}: also selected by ${others.join(", ")}; neither applies there`;
  return { type, status: "True", reason: "Overlap", message: message.slice(0, MESSAGE_MAX) };
}

/** A kubelet that joins a policy counts in its limits, so a hostile one could block evictions of others. */
function unguardedCondition(selector: NodePolicySpec["selector"]): Condition[] {
  const keys = kubeletLabelKeys(requirementsOf(selector));
  if (keys.length === 0) return [];
  const fix = "select by labels under node-restriction.kubernetes.io/ where kubelets are not trusted";
  const message = `a kubelet may set ${keys.join(", ")} on its own node; ${fix}`.slice(0, MESSAGE_MAX);
  return [{ type: "SelectorGuarded", status: "False", reason: "KubeletLabels", message }];
}

function remediationsCondition(problem: RemediationProblem | null): Condition {
  const type = "RemediationsReady";
  if (problem === null) return { type, status: "True", reason: "TemplatesFound", message: "every template was read" };
  return { type, status: "False", reason: problem.reason, message: problem.message.slice(0, MESSAGE_MAX) };
}

function unwrittenCondition(sentences: readonly string[]): Condition {
  const message = sentences.join("; ").slice(0, MESSAGE_MAX);
  return { type: "MemoryWritten", status: "False", reason: "WriteFailed", message };
}

function ceilingCondition({ field, nodes, detail }: NonNullable<PolicyActivity["ceiling"]>): Condition {
  const waiting = nodes === 1 ? "1 node waits" : `${nodes} nodes wait`;
  const message = `${waiting} for ${field}, which counts all policies: ${detail}`.slice(0, MESSAGE_MAX);
  return { type: "CeilingReached", status: "True", reason: "NodesWait", message };
}

function sameConditions(known: readonly Readonly<Record<string, unknown>>[], wanted: readonly object[]): boolean {
  const text = (conditions: readonly object[]) =>
    JSON.stringify(
      conditions.map((condition) => Object.entries(condition).sort(([left], [right]) => (left < right ? -1 : 1))),
    );
  return text(known) === text(wanted);
}
