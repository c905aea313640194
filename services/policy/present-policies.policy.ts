/** The policies and freezes at one instant, from the API and --config, as the policy service would publish them. */
import type { PolicySet } from "../../protocols/policy-set.ts";
import type { FreezeResource, PolicyResource } from "../../protocols/ports.ts";
import { type ConfiguredPolicy, nodePolicyOf, pauseRequestOf } from "../domain/node-policy.parse.ts";
import { policySet } from "../domain/node-policy.ts";
import {
  EVERYWHERE,
  freezeMemory,
  freezeSources,
  frozenTime,
  readMemory,
  readPauseRequests,
  readSources,
  unplacedRequests,
} from "./freezes.policy.ts";
import { readOutages } from "./outage-memory.policy.ts";
import { type PolicyRules, resolvedPolicies } from "./resolved-policies.policy.ts";

/** What the policies at one instant follow from. */
export interface PolicySources {
  /** Those of --config. */
  readonly configured: readonly ConfiguredPolicy[];
  readonly resources: readonly PolicyResource[];
  /** Null without the ConfigMap. */
  readonly freeze: FreezeResource | null;
  readonly profile: PolicyRules;
}

/** The set of policies at an instant of the API's clock. */
export function presentPolicies({ configured, resources, freeze, profile }: PolicySources, at: number): PolicySet {
  const resolved = resolvedPolicies(configured, resources, profile);
  const { requests: recorded } = readPauseRequests(freeze?.pauseRequests ?? null);
  const requests = [...recorded, ...unplacedRequests(resolved)];
  const sources = freezeSources(resolved, recorded);
  const text = freeze?.frozen ?? null;
  const memory = freezeMemory(readMemory(text), { sourcesBefore: readSources(text), sources }, at);
  const ofScope = (scope: string) => requests.filter((each) => each.scope === scope).map(({ request }) => request);
  const policies = resolved.flatMap(({ name, spec }) => {
    if (spec === null) return [];
    const pauseRequests = [...(spec.pauseRequests ?? []), ...ofScope(name)];
    return [nodePolicyOf(name, { ...spec, pauseRequests }, [...frozenTime(memory, name, at)])];
  });
  const pauseRequests = ofScope(EVERYWHERE).map(pauseRequestOf);
  const everywhere = { pauseRequests, frozen: frozenTime(memory, EVERYWHERE, at) };
  return policySet(policies, everywhere, readOutages(freeze?.outages ?? null, at));
}
