/** The node policies in force as people see them: how many nodes each has, what its limits do, and what freezes it. */
import type { BreakerReport, PolicyReport } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { NodePolicy, PolicySet } from "../../../protocols/policy-set.ts";
import { evictionRatesOf } from "../../domain/eviction-rates.ts";
import { freezeReport } from "../../domain/freeze-report.ts";
import { isUnhealthy } from "../../domain/judgement.ts";
import { budgetLeft, evictsForConditions, POLICY_CEILING, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import type { ClusterState, Judged, NodeRecord } from "../state/cluster-state.ts";
import { isRecent } from "../state/waiting-nodes.policy.ts";

type PolicyNodes = Pick<PolicyReport, "nodes" | "unhealthy" | "conflicts">;

const NO_NODES: PolicyNodes = { nodes: 0, unhealthy: 0, conflicts: 0 };

/**
 * Every policy by name. Before them, under the name of the whole cluster, are all nodes: only while a freeze or the
 * cluster's own breaker applies to all of them. Null while the policies are not known.
 */
export function policyReports(set: PolicySet | null, state: ClusterState, now: number): PolicyReport[] | null {
  if (set === null) return null;
  const { policies, everywhere } = set;
  const counts = countsOf(state.nodes.values());
  const countOf = (name: string): PolicyNodes => counts.get(name) ?? NO_NODES;
  const reports = policies.map((policy): PolicyReport => {
    const { name, mode, circuitBreaker } = policy;
    const limits = limitsReport(state.limits.get(name), circuitBreaker !== null, now);
    const evictions = evictionsReport(policy, state.evictions.get(name), now);
    const remediations = remediationsReport(state.remediations.get(name), now);
    return {
      name,
      mode,
      ...countOf(name),
      ...limits,
      holds: [...limits.holds, ...ceilingBlocks(policy, state, now)],
      ...evictions,
      ...remediations,
      freeze: freezeReport([policy], everywhere, now),
    };
  });
  reports.sort((left, right) => (left.name < right.name ? -1 : 1));
  const freeze = freezeReport([], everywhere, now);
  const cluster = state.limits.get(WHOLE_CLUSTER);
  if (freeze === null && cluster === undefined) return reports;
  const limits = limitsReport(cluster, cluster !== undefined, now);
  return [{ name: WHOLE_CLUSTER, mode: null, ...countOf(WHOLE_CLUSTER), ...limits, freeze }, ...reports];
}

/** The judged nodes of each policy, and all of them under the name of the whole cluster. */
function countsOf(nodes: Iterable<NodeRecord>): ReadonlyMap<string, PolicyNodes> {
  const counts = new Map<string, PolicyNodes>();
  const add = (name: string, more: Partial<PolicyNodes>): void => {
    const { nodes: known, unhealthy, conflicts } = counts.get(name) ?? NO_NODES;
    counts.set(name, {
      nodes: known + (more.nodes ?? 0),
      unhealthy: unhealthy + (more.unhealthy ?? 0),
      conflicts: conflicts + (more.conflicts ?? 0),
    });
  };
  for (const { observed, judged } of nodes) {
    if (observed === null || judged === null) continue;
    const unhealthy = isUnhealthy(judged) ? 1 : 0;
    add(WHOLE_CLUSTER, { nodes: 1, unhealthy });
    if (judged.policy !== undefined) add(judged.policy, { nodes: 1, unhealthy });
    for (const name of judged.conflict ?? []) add(name, { conflicts: 1 });
  }
  return counts;
}

/** What the limits of a policy do, as their owner published it lately. */
function limitsReport(
  record: Judged<"judged.limits"> | undefined,
  hasBreaker: boolean,
  now: number,
): Pick<PolicyReport, "breaker" | "budget" | "holds"> {
  if (record === undefined || !isRecent(record, now)) {
    return { breaker: hasBreaker ? { state: "unknown", resetAt: null } : null, budget: null, holds: [] };
  }
  const { budget, holds, memory, down } = record.judged;
  const breaker: BreakerReport = {
    ...breakerState(memory, now),
    ...(down === undefined ? {} : { down: down.nodes }),
  };
  return {
    breaker: hasBreaker ? breaker : null,
    budget: budget === undefined ? null : { nodes: budget, left: budgetLeft(record.judged) ?? 0 },
    holds,
  };
}

/** Whether a breaker is open. One that was due to reset by now may be closed, as its owner has not published since. */
function breakerState(
  { trippedAt, resetAt }: BodyOf<"judged.limits">["memory"],
  now: number,
): Pick<BreakerReport, "state" | "resetAt"> {
  if (trippedAt === null) return { state: "closed", resetAt: null };
  return resetAt !== null && resetAt <= now ? { state: "unknown", resetAt: null } : { state: "open", resetAt };
}

/** What blocks nodes under the ceiling on all policies together, as far as it concerns this one. */
function ceilingBlocks(policy: NodePolicy, { limits }: ClusterState, now: number): PolicyReport["holds"] {
  const record = limits.get(POLICY_CEILING);
  if (record === undefined || !isRecent(record, now) || !evictsForConditions(policy)) return [];
  return record.judged.holds.filter((block) => block.policy === policy.name || block.policy === WHOLE_CLUSTER);
}

/** The remediations of a policy, as the active process of the policy service published them lately. */
function remediationsReport(
  record: Judged<"judged.remediations"> | undefined,
  now: number,
): Pick<PolicyReport, "remediations"> {
  if (record === undefined || !isRecent(record, now)) return {};
  const { nodes } = record.judged;
  const running = nodes.filter(({ state }) => state === "running" || state === "succeeded").length;
  return { remediations: { running, waiting: nodes.length - running } };
}

/** The evictions under the rates of a policy, as their owner published them lately. */
function evictionsReport(
  policy: NodePolicy,
  record: Judged<"judged.evictions"> | undefined,
  now: number,
): Pick<PolicyReport, "evictions"> {
  if (evictionRatesOf(policy) === null || record === undefined || !isRecent(record, now)) return {};
  const { inWindow, waiting } = record.judged;
  return { evictions: { lastMinute: inWindow, waiting } };
}
