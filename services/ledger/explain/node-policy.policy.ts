/** Sentences about a node policy itself: its nodes, what it sets, and what its limits and freezes do now. */
import type { HoldReport, PolicyReport } from "../../../protocols/ledger-reader.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import { apiTime } from "../../domain/api-time.ts";
import { countText, listText, type NamedText, named, namedList, nameText, policyText } from "../../domain/format.ts";
import { activeRequests } from "../../domain/freeze.ts";
import { isUnhealthy } from "../../domain/judgement.ts";
import { hasLimits } from "../../domain/limited-policies.ts";
import type { NodeJudgement } from "../state/cluster-state.ts";
import { isRecent } from "../state/waiting-nodes.policy.ts";
import { type ExplainContext, freezeSentences } from "./explain-context.ts";
import { fieldTexts, selectorText } from "./policy-fields.ts";
import { limiterText } from "./queue.policy.ts";
import { quotedText } from "./quoted-text.ts";
import { type Sentence, sentence } from "./sentences.ts";

/** Most nodes that one sentence names. */
const NAMES_MAX = 10;

/** The sentences about a policy that is in force, with the report of what it does now. */
export function policySentences(policy: NodePolicy, report: PolicyReport, context: ExplainContext): Sentence[] {
  const { name, selector } = policy;
  const selects = { policy: name, selector: selectorText(selector) };
  return [
    selector.length === 0 ? sentence("policySelectsAll", { policy: name }) : sentence("policySelects", selects),
    ...nodesSentences(name, context),
    ...shadowSentences(context),
    ...settingsSentences(policy, context),
    ...(policy.refused ?? []).map((problem) => sentence("policyRefused", { problem })),
    ...freezeSentences("policy", report.freeze, context),
    ...limitSentences(policy, report, context),
    ...evictionSentences(policy, report, context),
    ...remediationSentences(report),
  ];
}

function nodesSentences(policy: string, { state, now }: ExplainContext): Sentence[] {
  const known = [...state.nodes.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  const own: NamedText[] = [];
  const unhealthy: NamedText[] = [];
  const maintained: NamedText[] = [];
  const shared: NamedText[] = [];
  for (const { name: node, observed, judged } of known) {
    if (observed === null || judged === null) continue;
    const name = nameText("Node", node);
    if (judged.conflict?.includes(policy)) shared.push(sharedText(name, judged.conflict, policy));
    if (judged.policy !== policy) continue;
    own.push(name);
    if (isUnhealthy(judged)) unhealthy.push(name);
    if (isMaintained(judged, now)) maintained.push(name);
  }
  const maintenance = { nodes: countIs(maintained.length), names: namesText(maintained) };
  const ill = { nodes: countIs(unhealthy.length), names: namesText(unhealthy) };
  return [
    own.length === 0 ? sentence("policyNoNode", {}) : sentence("policyNodes", countedNames(own)),
    ...(unhealthy.length === 0 ? [] : [sentence("policyUnhealthy", ill)]),
    ...(shared.length === 0 ? [] : [sentence("policyConflict", countedNames(shared))]),
    ...(maintained.length === 0 ? [] : [sentence("policyMaintenance", maintenance)]),
  ];
}

function isMaintained({ maintenance }: NodeJudgement, now: number): boolean {
  return maintenance !== undefined && maintenance.untilAt > now;
}

/** A node with the other policies that select it. */
function sharedText(node: NamedText, policies: readonly string[], own: string): NamedText {
  const others = policies.filter((name) => name !== own).map(policyText);
  return named`${node} (${namedList(others)})`;
}

function shadowSentences({ isShadow }: ExplainContext): Sentence[] {
  return isShadow ? [sentence("policyUnwritten", {})] : [];
}

/** Its mode and its freezes have their own sentences. */
function settingsSentences(policy: NodePolicy, { now }: ExplainContext): Sentence[] {
  const fields = fieldTexts(policy);
  if (fields.length > 0) return [sentence("policySets", { fields: listText(fields) })];
  const isPlain = policy.mode === "Enforce" && activeRequests(policy, now).length === 0;
  return isPlain ? [sentence("policySetsNothing", {})] : [];
}

function limitSentences(policy: NodePolicy, report: PolicyReport, context: ExplainContext): Sentence[] {
  const { state, profile, now } = context;
  const { budget, holds } = report;
  const blocked = holds.map((block) => blockSentence(block, policy.name, state));
  if (!hasLimits(policy)) return blocked;
  if (profile.upstream === "beside") return [sentence("policyLimitsBeside", {})];
  const record = state.limits.get(policy.name);
  if (record === undefined || !isRecent(record, now)) {
    // Nothing is published about the limits of a policy without nodes.
    return report.nodes === 0 ? [] : [sentence("policyLimitsUnknown", {})];
  }
  const allowed = budget === null ? null : { nodes: countText(budget.nodes, "node"), left: String(budget.left) };
  return [
    ...breakerSentences(policy, report),
    ...(allowed === null ? [] : [sentence("policyBudget", allowed)]),
    ...blocked,
  ];
}

function breakerSentences({ circuitBreaker }: NodePolicy, { breaker }: PolicyReport): Sentence[] {
  if (breaker === null) return [];
  if (breaker.state === "unknown") return [sentence("policyBreakerUnknown", {})];
  if (breaker.state === "closed") return [sentence("policyBreakerClosed", {})];
  const readiness = circuitBreaker?.holdsReadiness === true ? [sentence("policyBreakerReadiness", {})] : [];
  if (breaker.resetAt === null) return [sentence("policyBreakerOpen", {}), ...readiness];
  return [sentence("policyBreakerOpenUntil", { at: apiTime(breaker.resetAt) }), ...readiness];
}

function blockSentence(block: HoldReport, name: string, state: ExplainContext["state"]): Sentence {
  const { policy, nodes, detail, untilAt } = block;
  const field = policy === name ? block.field : named`${block.field} of ${limiterText(policy)}`;
  const values = { field, nodes: countText(nodes, "node"), detail: quotedText(detail, state.nodes) };
  return untilAt === null
    ? sentence("policyHold", values)
    : sentence("policyHoldUntil", { ...values, at: apiTime(untilAt) });
}

function evictionSentences(
  policy: NodePolicy,
  { evictions }: PolicyReport,
  { profile }: Pick<ExplainContext, "profile">,
): Sentence[] {
  if (profile.upstream === "beside") return policy.evictions === null ? [] : [sentence("policyEvictionsBeside", {})];
  if (evictions === undefined) return [];
  const { lastMinute, waiting } = evictions;
  const paced = { evicted: countText(lastMinute, "pod"), waiting: countText(waiting, "pod") };
  return [sentence("policyEvictions", paced)];
}

function remediationSentences({ remediations }: PolicyReport): Sentence[] {
  if (remediations === undefined) return [];
  const { running, waiting } = remediations;
  const repaired = { running: countText(running, "node"), waiting: countText(waiting, "node") };
  return [sentence("policyRemediations", repaired)];
}

function countedNames(names: readonly NamedText[]): { readonly nodes: string; readonly names: NamedText } {
  return { nodes: countText(names.length, "node"), names: namesText(names) };
}

function countIs(count: number): string {
  return `${countText(count, "node")} ${count === 1 ? "is" : "are"}`;
}

function namesText(names: readonly NamedText[]): NamedText {
  const rest = names.length - NAMES_MAX;
  return namedList(rest > 0 ? [...names.slice(0, NAMES_MAX), `${rest} more`] : names);
}
