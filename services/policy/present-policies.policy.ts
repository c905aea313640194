/** The policies and freezes that the API shows at one instant, as the policy service would publish them. */
import { PAUSE_REQUESTS_MAX } from "../../protocols/judged.ts";
import type { PolicySet } from "../../protocols/policy-set.ts";
import type { FreezeResource, PolicyResource } from "../../protocols/ports.ts";
import { nodePolicyOf, pauseRequestOf } from "../domain/node-policy.parse.ts";
import { policySet } from "../domain/node-policy.ts";
import { EVERYWHERE, freezeMemory, freezeSources, readMemory, readPauseRequests } from "./freezes.policy.ts";
import { resolvedPolicies } from "./resolved-policies.policy.ts";

/** The set of policies of the API's objects at an instant of its clock; `freeze` is null without the ConfigMap. */
export function presentPolicies(
  resources: readonly PolicyResource[],
  freeze: FreezeResource | null,
  at: number,
): PolicySet {
  const inForce = resolvedPolicies([], resources).flatMap(({ name, spec, changedAt }) =>
    spec === null ? [] : [{ name, spec, changedAt }],
  );
  const { requests } = readPauseRequests(freeze?.pauseRequests ?? null);
  const sources = freezeSources(inForce, requests);
  const memory = freezeMemory(readMemory(freeze?.frozen ?? null), { sources }, at);
  const ofScope = (scope: string) => requests.filter((each) => each.scope === scope).map(({ request }) => request);
  const policies = inForce.map(({ name, spec }) => {
    const pauseRequests = [...(spec.pauseRequests ?? []), ...ofScope(name)].slice(0, PAUSE_REQUESTS_MAX);
    return nodePolicyOf(name, { ...spec, pauseRequests }, [...(memory.get(name) ?? [])]);
  });
  const pauseRequests = ofScope(EVERYWHERE).map(pauseRequestOf);
  return policySet(policies, { pauseRequests, frozen: memory.get(EVERYWHERE) ?? [] });
}
