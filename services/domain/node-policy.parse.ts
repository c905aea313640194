/**
 * Parses the spec of a NodePolicy, field by field. An invalid field is reported with its name, its value and the fix,
 * and counts as unset; the other fields apply. A typing error in one limit therefore does not lift the others. Budgets,
 * requests to freeze and rates of evictions count one by one. What protects nodes and pods applies as far as it can be
 * read: with `maxUnhealthy: 20%%` and `mode: Frezze` the limit is unset and the mode is Freeze.
 */
import { OWN_TAINT_VALUE } from "../../protocols/names.ts";
import {
  NODE_POLICY_FIELDS,
  type NodePolicyField,
  type NodePolicySpec,
  type PauseRequestSpec,
  PLAIN_FIELDS,
  type PlainField,
  type PlainValues,
  pauseRequestSchema,
} from "../../protocols/node-policy.ts";
import type {
  Budget,
  CircuitBreaker,
  FrozenInterval,
  LabelRequirement,
  NodeCount,
  NodePolicy,
  PauseRequest,
  Remediation,
  UnhealthyCondition,
} from "../../protocols/policy-set.ts";
import { recordOf } from "../structures/json.ts";
import { apiTime, epochMsOf } from "./api-time.ts";
import { scheduleProblem } from "./cron-schedule.ts";
import { DURATION_MS_MAX, parseDuration } from "./duration.ts";
import { freezesByMode } from "./freeze.ts";
import { nearest } from "./suggest.ts";

/** What can be used of a spec. */
export interface ParsedSpec {
  /** The valid fields; null when the selector is missing or invalid: the policy then selects no node. */
  readonly spec: NodePolicySpec | null;
  /** Lines that name a field, its value and the fix. */
  readonly problems: readonly string[];
  /** What freezes its nodes, including mode Freeze; also for a spec that selects no node. */
  readonly freezes: readonly PauseRequestSpec[];
}

/** A policy of --config: its spec is checked when the process starts. */
export interface ConfiguredPolicy {
  readonly name: string;
  readonly spec: NodePolicySpec;
}

/** Checks a spec of unknown origin. */
export function checkSpec(raw: unknown): ParsedSpec {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    const problem = `spec: ${shown(raw)}: write fields such as selector: {…}`;
    return { spec: null, problems: [problem], freezes: [] };
  }
  const problems: string[] = [];
  const kept: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(raw)) {
    if (!isField(field)) problems.push(unknownField("spec", field, Object.keys(NODE_POLICY_FIELDS)));
    else {
      const readable = readablePart(field, value, problems);
      if (takes(field, readable, problems)) kept[field] = readable;
    }
  }
  if (!Object.hasOwn(raw, "selector")) takes("selector", undefined, problems);
  const valid = kept as Partial<NodePolicySpec>;
  const spec = valid.selector === undefined ? null : { ...valid, selector: valid.selector };
  const byMode = valid.mode !== undefined && freezesByMode({ mode: valid.mode }) ? [{ name: BY_MODE }] : [];
  return { spec, problems, freezes: [...byMode, ...(valid.pauseRequests ?? [])] };
}

/** The mode as a request to freeze nodes. */
const BY_MODE = "mode Freeze";

/** A checked spec in whole units. */
export function nodePolicyOf(name: string, spec: NodePolicySpec, frozen: readonly FrozenInterval[] = []): NodePolicy {
  return {
    name,
    selector: requirementsOf(spec.selector),
    mode: spec.mode ?? "Enforce",
    pauseRequests: (spec.pauseRequests ?? []).map(pauseRequestOf),
    frozen,
    ...plainValuesOf(spec),
    maxUnhealthy: spec.maxUnhealthy === undefined ? null : nodeCountOf(spec.maxUnhealthy),
    circuitBreaker: circuitBreakerOf(spec.circuitBreaker),
    flapping: flappingOf(spec.flapping),
    unhealthyConditions: (spec.unhealthyConditions ?? []).map(unhealthyConditionOf),
    maintenance: maintenanceOf(spec.maintenance),
    evictions: evictionsOf(spec.evictions),
    budgets: (spec.budgets ?? []).map(budgetOf),
    remediations: (spec.remediations ?? []).map(remediationOf),
    outOfService: outOfServiceOf(spec.outOfService),
  };
}

function plainValuesOf(spec: NodePolicySpec): PlainValues {
  const values = Object.entries(PLAIN_FIELDS).map(([field, { as }]) => {
    const written = spec[field as PlainField];
    return [as, typeof written === "string" ? durationOf(written) : (written ?? null)] as const;
  });
  return Object.fromEntries(values) as PlainValues;
}

/**
 * The year 9000. A later end counts as none: a countdown that continues after it has no date that the API could store.
 */
const NEVER_AT = 221_845_392_000_000;

/** A request to freeze nodes. */
export function pauseRequestOf({ name, reason, since, until }: PauseRequestSpec): PauseRequest {
  const endAt = instantOf(until);
  const untilAt = endAt === null || endAt >= NEVER_AT ? null : endAt;
  return { name, reason: reason ?? null, sinceAt: instantOf(since), untilAt };
}

/** The requirements of a selector as written. */
export function requirementsOf({
  matchLabels = {},
  matchExpressions = [],
}: NodePolicySpec["selector"]): LabelRequirement[] {
  const equal = Object.entries(matchLabels).map(([key, value]) => {
    return { key, operator: "In" as const, values: [value] };
  });
  return [...equal, ...matchExpressions.map(({ key, operator, values }) => ({ key, operator, values: values ?? [] }))];
}

/** A count as written, such as 2, "2" or "20%". */
function nodeCountOf(written: number | string): NodeCount {
  if (typeof written === "number") return { nodes: written };
  return written.endsWith("%") ? { percentage: Number(written.slice(0, -1)) } : { nodes: Number(written) };
}

function circuitBreakerOf(written: NodePolicySpec["circuitBreaker"]): CircuitBreaker | null {
  if (written === undefined) return null;
  return {
    percentage: written.percentage ?? null,
    nodesMax: written.maxNodes ?? null,
    durationMs: durationOf(written.duration) ?? 0,
    resetAfterMs: durationOf(written.resetAfter),
    holdsReadiness: written.holds?.includes("Readiness") === true,
  };
}

function flappingOf(written: NodePolicySpec["flapping"]): NodePolicy["flapping"] {
  if (written === undefined) return null;
  const { transitions, window, holdDown } = written;
  return { transitions, windowMs: durationOf(window) ?? 0, holdDownMs: durationOf(holdDown) ?? 0 };
}

type WrittenCondition = NonNullable<NodePolicySpec["unhealthyConditions"]>[number];

function unhealthyConditionOf({ type, status, duration, taint }: WrittenCondition): UnhealthyCondition {
  const { key, effect, value = OWN_TAINT_VALUE } = taint;
  return { type, status, durationMs: durationOf(duration) ?? 0, taint: { key, effect, value } };
}

function maintenanceOf(written: NodePolicySpec["maintenance"]): NodePolicy["maintenance"] {
  return written === undefined ? null : { hold: written.hold, atMostMs: durationOf(written.atMost) ?? 0 };
}

function evictionsOf(written: NodePolicySpec["evictions"]): NodePolicy["evictions"] {
  if (written === undefined) return null;
  return {
    method: written.method ?? "Delete",
    deleteAfterMs: durationOf(written.deleteAfter),
    perMinuteMax: written.maxPerMinute ?? null,
    perNamespacePerMinuteMax: written.maxPerNamespacePerMinute ?? null,
  };
}

function budgetOf({ nodes, schedule, timeZone, duration }: NonNullable<NodePolicySpec["budgets"]>[number]): Budget {
  if (schedule === undefined) return { nodes: nodeCountOf(nodes), window: null };
  const window = { schedule, timeZone: timeZone ?? null, durationMs: durationOf(duration) ?? 0 };
  return { nodes: nodeCountOf(nodes), window };
}

type WrittenRemediation = NonNullable<NodePolicySpec["remediations"]>[number];

function remediationOf({ timeout, template, dryRun = false }: WrittenRemediation): Remediation {
  return { timeoutMs: durationOf(timeout) ?? 0, template, dryRun };
}

function outOfServiceOf(written: NodePolicySpec["outOfService"]): NodePolicy["outOfService"] {
  if (written === undefined) return null;
  const { after, proof, removeWhenReady = true } = written;
  return { afterMs: durationOf(after) ?? 0, proofs: [...new Set(proof)], removeWhenReady };
}

/** A longer duration counts as the longest one: refusing it would lift a limit that was meant to apply for ever. */
function durationOf(written: string | undefined): number | null {
  const durationMs = written === undefined ? null : parseDuration(written);
  return durationMs === null ? null : Math.min(durationMs, DURATION_MS_MAX);
}

/** JavaScript reads 30 February as 2 March. Nothing shows which instant such an end was meant to be. */
function instantOf(written: string | undefined): number | null {
  const at = epochMsOf(written);
  if (written === undefined || at === null) return null;
  const day = written.slice(0, 10);
  const dayAt = epochMsOf(`${day}T00:00:00Z`);
  return dayAt !== null && apiTime(dayAt).startsWith(day) ? at : null;
}

/** Whether a value fits its field; if not, adds one problem. */
function takes(field: NodePolicyField, value: unknown, problems: string[]): boolean {
  const problem = fieldProblem(field, value);
  if (problem !== null) problems.push(problem);
  return problem === null;
}

function fieldProblem(field: NodePolicyField, value: unknown): string | null {
  const issue = NODE_POLICY_FIELDS[field].safeParse(value).error?.issues[0];
  if (issue !== undefined) return issueText(issue, ["spec", field, ...issue.path]);
  // The schema passes over this one key, and so do receivers: they would select every node.
  const isUnseen = field === "selector" && Object.hasOwn(recordOf(recordOf(value).matchLabels), "__proto__");
  return isUnseen ? 'spec.selector.matchLabels: "__proto__": write a label key such as example.com/pool' : null;
}

type Issue = NonNullable<ReturnType<typeof NODE_POLICY_FIELDS.selector.safeParse>["error"]>["issues"][number];

function issueText(issue: Issue, path: readonly PropertyKey[]): string {
  const where = pathText(path);
  return issue.code === "unrecognized_keys" ? `${where}.${issue.keys[0]}: no such field` : `${where}: ${issue.message}`;
}

/** The readable part of a field whose parts count one by one; each invalid part adds one problem. */
function readablePart(field: NodePolicyField, value: unknown, problems: string[]): unknown {
  if (field === "mode") return readableMode(value, problems);
  if (field === "evictions") return readableEvictions(value, problems);
  if (!Array.isArray(value) || (field !== "budgets" && field !== "pauseRequests")) return value;
  const readable = field === "budgets" ? readableBudget : readablePauseRequest;
  return value.flatMap((entry: unknown, index) => {
    const { problem, entries } = readable(entry, pathText(["spec", field, index]));
    if (problem === null) return [entry];
    problems.push(problem);
    return entries;
  });
}

/** What to use in place of a mode that older versions had. */
const SHADOW_FIX = "see what a policy would do with vigil preview, and write Freeze to do no harm to its nodes";

/** A mode that cannot be read does no harm until it can. */
function readableMode(raw: unknown, problems: string[]): unknown {
  const problem = fieldProblem("mode", raw);
  if (problem === null) return raw;
  const fix = raw === "Shadow" ? `spec.mode: "Shadow": ${SHADOW_FIX}` : problem;
  problems.push(`${fix}; until that is valid, the mode is Freeze`);
  return "Freeze";
}

/** The parts of `evictions` that say how a pod is evicted. */
const METHOD_PARTS: readonly PropertyKey[] = ["method", "deleteAfter"];

/**
 * The valid parts of `evictions`. Where the method cannot be read, or not when it deletes, it is Evict: that deletes no
 * pod which a disruption budget keeps, and never more than what was meant.
 */
function readableEvictions(raw: unknown, problems: string[]): unknown {
  const schema = NODE_POLICY_FIELDS.evictions;
  const issues = schema.safeParse(raw).error?.issues ?? [];
  if (issues.length === 0 || issues.some(({ code, path }) => code === "invalid_type" && path.length === 0)) return raw;
  for (const issue of issues) {
    const [part] = issue.path;
    const isAboutMethod = part === undefined ? issue.code === "custom" : METHOD_PARTS.includes(part);
    const text = issueText(issue, ["spec", "evictions", ...issue.path]);
    problems.push(isAboutMethod ? `${text}; until that is valid, the method is Evict` : text);
  }
  const { method, deleteAfter } = recordOf(raw);
  const isMethodValid = schema.safeParse({ method, deleteAfter }).success;
  const valid = Object.entries(recordOf(raw)).filter(([part, value]) =>
    METHOD_PARTS.includes(part) ? isMethodValid : schema.safeParse({ [part]: value }).success,
  );
  return { ...(isMethodValid ? {} : { method: "Evict" }), ...Object.fromEntries(valid) };
}

/** Why an entry of a list is invalid; null when it is valid. And what applies of it: one entry or none. */
interface ReadableEntry<E> {
  readonly problem: string | null;
  readonly entries: readonly E[];
}

/**
 * A budget with an invalid schedule always applies: that is never less than what was meant. One without a number is
 * dropped.
 */
function readableBudget(raw: unknown, where: string): ReadableEntry<unknown> {
  const problem = budgetProblem(raw, where);
  const { nodes } = recordOf(raw);
  if (!NODE_POLICY_FIELDS.budgets.safeParse([{ nodes }]).success) return { problem, entries: [] };
  return { problem: problem && `${problem}; a budget without a valid schedule always applies`, entries: [{ nodes }] };
}

/** Why a budget is invalid, such as a schedule that cannot be read or never runs; null when it is valid. */
function budgetProblem(raw: unknown, where: string): string | null {
  const { data, error } = NODE_POLICY_FIELDS.budgets.safeParse([raw]);
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) return issueText(issue, [where, ...issue.path.slice(1)]);
  const { schedule, timeZone } = data?.[0] ?? {};
  const problem = schedule === undefined ? null : scheduleProblem(schedule, timeZone ?? null);
  return problem && `${where}.${problem.field}: ${problem.message}`;
}

/** The name of a request without a name. */
const UNNAMED = "unknown";

/**
 * A request to freeze nodes, as far as it can be read; `where` names the place in problems. An invalid part counts as
 * unset, and the freeze applies: nothing shows which instant an invalid end was meant to be.
 */
export function readablePauseRequest(raw: unknown, where: string): ReadableEntry<PauseRequestSpec> {
  const { shape } = pauseRequestSchema;
  const written = recordOf(raw);
  const request = {
    name: shape.name.safeParse(written.name).data ?? UNNAMED,
    reason: shape.reason.safeParse(written.reason).data,
    since: readableInstant(written.since),
    until: readableInstant(written.until),
  };
  const set = Object.entries(request).filter(([, value]) => value !== undefined);
  const entries = [Object.fromEntries(set) as PauseRequestSpec];
  return { problem: pauseRequestProblem(raw, where), entries };
}

function pauseRequestProblem(raw: unknown, where: string): string | null {
  const { data, error } = pauseRequestSchema.safeParse(raw);
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) return issueText(issue, [where, ...issue.path]);
  const invalid = (["since", "until"] as const).find(
    (part) => data?.[part] !== undefined && instantOf(data[part]) === null,
  );
  return invalid === undefined ? null : `${where}.${invalid}: ${shown(data?.[invalid])}: there is no such instant`;
}

function readableInstant(written: unknown): string | undefined {
  const { data } = pauseRequestSchema.shape.since.safeParse(written);
  return instantOf(data) === null ? undefined : data;
}

/** A path as people write it: `spec.budgets[0].nodes`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .slice(1);
}

function unknownField(where: string, field: string, fields: readonly string[]): string {
  const meant = nearest(field, fields);
  return `${where}.${field}: no such field${meant === null ? "" : `; did you mean ${meant}?`}`;
}

function isField(field: string): field is NodePolicyField {
  return Object.hasOwn(NODE_POLICY_FIELDS, field);
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
