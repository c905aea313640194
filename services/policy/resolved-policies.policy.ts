/** Decides which policies are in force, out of the objects of the API and those of --config. */
import {
  POLICIES_MAX,
  POLICY_NAME_MAX,
  REFUSED_FIELD_CHARACTERS_MAX,
  REFUSED_FIELDS_MAX,
} from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { NodePolicySpec, PauseRequestSpec } from "../../protocols/node-policy.ts";
import type { PolicyResource } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { fnv1a } from "../../protocols/subjects.ts";
import { unplacedName } from "../domain/freeze.ts";
import { type ConfiguredPolicy, checkSpec, nodePolicyOf } from "../domain/node-policy.parse.ts";
import { CONDITION_TYPES_MAX, policyConditionTypes, SELECTOR_KEYS_MAX, selectorKeys } from "../domain/node-policy.ts";
import { type Ceilings, withinCeilings } from "./ceilings.policy.ts";

/** A policy with its problems. */
export interface ResolvedPolicy {
  readonly name: string;
  readonly source: "config" | "resource";
  /** The fields in force; null when the policy selects no node. */
  readonly spec: NodePolicySpec | null;
  readonly version: string;
  /** When its spec was last changed at the API; null where that is not known. */
  readonly changedAt: number | null;
  readonly problems: readonly string[];
  /**
   * What it freezes without being in force: its nodes are not known, so it freezes all of them. Empty for one in force.
   */
  readonly unplaced: readonly PauseRequestSpec[];
}

/**
 * Largest spec in force, in characters: one message holds it in any encoding of its text. Its pause requests do not
 * count, so that a freeze takes no policy out of force; what is published of them is short.
 */
const SPEC_CHARACTERS_MAX = 16 * 1024;

/** The problem of an object whose name a policy of --config has. */
const NAMESAKE = "--config has a policy of this name, which is in force with the pauseRequests of both";

/** The problem of a policy that freezes nodes without being in force. */
const UNPLACED = "spec: it freezes nodes, but is not in force; until it is, all nodes are frozen";

/** The settings of the process that concern all policies. */
export type PolicyRules = Ceilings & Pick<Profile, "remediationDryRun">;

/**
 * All policies by name; of two with one name, that of --config is in force, with the pause requests of both: a user who
 * freezes nodes by the name of their policy cannot know which of the two it is.
 */
export function resolvedPolicies(
  configured: readonly ConfiguredPolicy[],
  resources: readonly PolicyResource[],
  rules: PolicyRules = STANDARD_PROFILE,
): readonly ResolvedPolicy[] {
  const names = new Set(configured.map(({ name }) => name));
  const candidates = [
    ...configured.map((policy) => withRequestsOf(resolved(policy, "config", rules), resources)),
    ...resources.map((resource) => {
      const { name } = resource;
      const policy = resolved(resource, "resource", rules);
      return names.has(name) ? { ...refused(policy, NAMESAKE), freezes: [] } : policy;
    }),
  ];
  return withinLimits(candidates.sort((left, right) => (left.name < right.name ? -1 : 1))).map(placed);
}

/** A policy before anything is known of the others. */
interface Candidate extends Omit<ResolvedPolicy, "unplaced"> {
  readonly freezes: readonly PauseRequestSpec[];
}

/** No invalid field, and no limit of all policies, ends a freeze. */
function placed({ freezes, ...policy }: Candidate): ResolvedPolicy {
  if (policy.spec !== null || freezes.length === 0) return { ...policy, unplaced: [] };
  const unplaced = freezes.map((request) => ({ ...request, name: unplacedName(policy.name, request.name) }));
  return { ...policy, unplaced, problems: [...policy.problems, UNPLACED] };
}

/** Of two lists that are each as long as allowed, no request is left out: any of them may be the one that freezes. */
function withRequestsOf(policy: Candidate, resources: readonly PolicyResource[]): Candidate {
  const namesake = resources.find(({ name }) => name === policy.name);
  // An invalid selector of the object takes no request out of force: the nodes are those of the other selector.
  const requests = namesake === undefined ? [] : checkSpec(namesake.spec).freezes;
  if (requests.length === 0 || policy.spec === null) return policy;
  const all = { ...policy.spec, pauseRequests: [...requests, ...(policy.spec.pauseRequests ?? [])] };
  return { ...policy, spec: all, version: versionOf(JSON.stringify(all)) };
}

function resolved(
  { name, spec: raw, changedAt = null }: Pick<PolicyResource, "name" | "spec"> & Partial<PolicyResource>,
  source: ResolvedPolicy["source"],
  rules: PolicyRules,
): Candidate {
  const checked = source === "config" ? checkSpec(raw) : withinCeilings(checkSpec(raw), rules);
  const spec = rules.remediationDryRun ? withDryRuns(checked.spec) : checked.spec;
  const { problems, freezes } = checked;
  if (name.length > POLICY_NAME_MAX) {
    const long = `metadata.name: has ${name.length} characters, at most ${POLICY_NAME_MAX} are allowed`;
    return refused({ name, source, spec, problems, changedAt, version: "", freezes }, long);
  }
  const text = JSON.stringify(spec);
  const policy = { name, source, spec, problems, changedAt, version: versionOf(text), freezes };
  const { length } = spec === null ? "" : JSON.stringify({ ...spec, pauseRequests: undefined });
  return length <= SPEC_CHARACTERS_MAX
    ? policy
    : refused(policy, `spec: has ${length} characters, at most ${SPEC_CHARACTERS_MAX} are allowed`);
}

/** Makes each remediation a dry run: every process of a fleet then treats and reports it as one. */
function withDryRuns(spec: NodePolicySpec | null): NodePolicySpec | null {
  if (spec?.remediations === undefined) return spec;
  return { ...spec, remediations: spec.remediations.map((step) => ({ ...step, dryRun: true })) };
}

/** The part of `judged.policy` about refused fields. A cut line still begins with its field. */
export function refusedFields({
  problems,
}: Pick<ResolvedPolicy, "problems">): Pick<BodyOf<"judged.policy">, "refused"> {
  if (problems.length === 0) return {};
  const lines = problems.slice(0, REFUSED_FIELDS_MAX);
  return { refused: lines.map((line) => line.slice(0, REFUSED_FIELD_CHARACTERS_MAX)) };
}

/** Refuses the policies, or fields, beyond the limits of a set, last names first. */
function withinLimits(candidates: readonly Candidate[]): readonly Candidate[] {
  const keys = new Set<string>();
  const types = new Set<string>();
  let inForce = 0;
  return candidates.map((candidate) => {
    if (candidate.spec === null) return candidate;
    if (inForce === POLICIES_MAX) return refused(candidate, `there are already ${POLICIES_MAX} other policies`);
    const policy = nodePolicyOf(candidate.name, candidate.spec);
    const more = selectorKeys([policy]).filter((key) => !keys.has(key));
    if (keys.size + more.length > SELECTOR_KEYS_MAX) {
      return refused(
        candidate,
        `spec.selector: all policies together may select by ${SELECTOR_KEYS_MAX} label keys; it has more`,
      );
    }
    for (const key of more) keys.add(key);
    inForce += 1;
    return withConditions(candidate, candidate.spec, types);
  });
}

/**
 * A policy with as many of the fields that name condition types as fit beside the types of other policies. Its own
 * types are added to those. `maintenance` protects nodes, so it comes first. The other fields always apply, above all a
 * freeze.
 */
function withConditions(policy: Candidate, spec: NodePolicySpec, types: Set<string>): Candidate {
  const kept = { ...spec };
  const problems: string[] = [];
  for (const field of ["maintenance", "unhealthyConditions"] as const) {
    const { unhealthyConditions, maintenance } = nodePolicyOf(policy.name, { selector: {}, [field]: spec[field] });
    const all = new Set([...types, ...policyConditionTypes([{ unhealthyConditions, maintenance }])]);
    if (all.size <= CONDITION_TYPES_MAX) for (const type of all) types.add(type);
    else {
      delete kept[field];
      const limit = `all policies together may name ${CONDITION_TYPES_MAX} types of conditions; it has more`;
      problems.push(`spec.${field}: ${limit}`);
    }
  }
  if (problems.length === 0) return policy;
  const version = versionOf(JSON.stringify(kept));
  return { ...policy, spec: kept, version, problems: [...policy.problems, ...problems] };
}

function versionOf(text: string): string {
  return fnv1a(text).toString(16);
}

function refused(policy: Candidate, message: string): Candidate {
  return { ...policy, spec: null, problems: [...policy.problems, message] };
}
