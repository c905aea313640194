/** The fields that a node policy sets, as people write them. */
import { PLAIN_FIELDS } from "../../../protocols/node-policy.ts";
import type { Budget, LabelRequirement, NodeCount, NodePolicy } from "../../../protocols/policy-set.ts";
import { formatDuration } from "../../domain/duration.ts";
import { asSet, listText } from "../../domain/format.ts";
import { taintName } from "../../domain/toleration.ts";

/** What a selector requires, as `kubectl get nodes -l` accepts it: `pool in (spot,preemptible),!legacy`. */
export function selectorText(selector: readonly LabelRequirement[]): string {
  return selector.map(requirementText).join(",");
}

/** Each field that is set, with its value: `nodeMonitorGracePeriod 20s`, `maxUnhealthy 20%`. */
export function fieldTexts(policy: NodePolicy): readonly string[] {
  return [...plainFields(policy), ...limitFields(policy), ...conditionFields(policy), ...actionFields(policy)];
}

function requirementText({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case "In":
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(",")})`;
    case "NotIn":
      return `${key} notin (${values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
  }
}

function plainFields(policy: NodePolicy): string[] {
  return Object.entries(PLAIN_FIELDS).flatMap(([field, { as }]) =>
    as.endsWith("Ms") ? duration(field, policy[as]) : number(field, policy[as]),
  );
}

function limitFields({ maxUnhealthy, circuitBreaker, flapping, budgets }: NodePolicy): string[] {
  const fields: string[] = [];
  if (maxUnhealthy !== null) fields.push(`maxUnhealthy ${nodeCountText(maxUnhealthy)}`);
  if (circuitBreaker !== null) {
    const { percentage, nodesMax, durationMs, resetAfterMs, holdsReadiness } = circuitBreaker;
    const limits = [...(percentage === null ? [] : [`${percentage}%`]), ...(nodesMax === null ? [] : [`${nodesMax}`])];
    const reset = resetAfterMs === null ? "" : `, reset after ${formatDuration(resetAfterMs)}`;
    const holds = holdsReadiness ? ", holds Evictions and Readiness" : "";
    fields.push(`circuitBreaker (${limits.join(" or ")} within ${formatDuration(durationMs)}${reset}${holds})`);
  }
  if (flapping !== null) {
    const { transitions, windowMs, holdDownMs } = flapping;
    const when = `${transitions} transitions within ${formatDuration(windowMs)}`;
    fields.push(`flapping (${when} hold for ${formatDuration(holdDownMs)})`);
  }
  if (budgets.length > 0) fields.push(`budgets (${budgets.map(budgetText).join("; ")})`);
  return fields;
}

function conditionFields({ unhealthyConditions, maintenance }: NodePolicy): string[] {
  const fields: string[] = [];
  if (unhealthyConditions.length > 0) {
    const rules = unhealthyConditions.map(({ type, status, durationMs, taint: { key, effect } }) => {
      return `${type}=${status} for ${formatDuration(durationMs)}: ${taintName({ key, effect })}`;
    });
    fields.push(`unhealthyConditions (${rules.join("; ")})`);
  }
  if (maintenance !== null) {
    const { hold, atMostMs } = maintenance;
    fields.push(`maintenance (${listText(hold)}, at most ${formatDuration(atMostMs)})`);
  }
  return fields;
}

function actionFields({ evictions, remediations, outOfService }: NodePolicy): string[] {
  const fields: string[] = [];
  if (evictions !== null) {
    const { method, deleteAfterMs, perMinuteMax, perNamespacePerMinuteMax } = evictions;
    const parts = [
      method,
      ...duration("deleteAfter", deleteAfterMs),
      ...number("maxPerMinute", perMinuteMax),
      ...number("maxPerNamespacePerMinute", perNamespacePerMinuteMax),
    ];
    fields.push(`evictions (${parts.join(", ")})`);
  }
  if (remediations.length > 0) {
    const steps = remediations.map(({ timeoutMs, template, dryRun }) => {
      return `${template.kind} for ${formatDuration(timeoutMs)}${dryRun ? " as a dry run" : ""}`;
    });
    fields.push(`remediations (${steps.join(", then ")})`);
  }
  if (outOfService !== null) {
    const { afterMs, proofs } = outOfService;
    fields.push(`outOfService (after ${formatDuration(afterMs)}, by ${proofs.join(" or ")})`);
  }
  return fields;
}

function budgetText({ nodes, window }: Budget): string {
  const count = nodeCountText(nodes);
  if (window === null) return count;
  const zone = window.timeZone === null ? "" : ` ${window.timeZone}`;
  return `${count} at ${window.schedule}${zone} for ${formatDuration(window.durationMs)}`;
}

function nodeCountText(count: NodeCount): string {
  return "nodes" in count ? String(count.nodes) : `${count.percentage}%`;
}

function duration(field: string, ms: number | null): string[] {
  return ms === null ? [] : [`${field} ${formatDuration(ms)}`];
}

function number(field: string, value: number | null): string[] {
  return value === null ? [] : [`${field} ${asSet(value)}`];
}
