/**
 * The rules that make each sentence of explain about policies and freezes true, from what the API shows of them. Like
 * the others, a sentence may be true of any state since its process may last have received it.
 */
import type { PolicySentenceName, SentenceName } from "../../../services/ledger/explain/sentences.ts";
import type { Claim } from "../explained-claims.ts";
import { type CheckedNode, conditionOf } from "../invariants.ts";
import { policiesOf } from "./api-policies.ts";
import { HOLD_TYPE } from "./condition-checks.ts";
import type { EvictionRates, Pause, PolicyState } from "./policy-state.ts";
import { POOL_LABEL } from "./pools.ts";

type Rule = (claim: Claim) => boolean;
type OfPolicies = PolicySentenceName | Extract<SentenceName, "queueHeld" | "queueHeldUntil" | "nodeTaintHeld">;

/** Instants of sentences are whole seconds, and clocks of processes are as far off. */
const SECOND_MS = 1_500;

/** Whether a policy sets the field that a sentence names. */
export const SETS: Readonly<Record<string, (state: PolicyState) => boolean>> = {
  circuitBreaker: ({ breaker }) => breaker !== null,
  maxUnhealthy: ({ maxUnhealthy }) => maxUnhealthy !== null,
  stormCooldownDuration: ({ stormCooldownMs }) => stormCooldownMs !== null,
  budgets: ({ budgets }) => budgets.length > 0,
  healthyDelay: ({ healthyDelayMs }) => healthyDelayMs !== null,
  flapping: ({ flapping }) => flapping !== null,
  "evictions.maxPerMinute": ({ evictionRates }) => evictionRates?.perMinuteMax != null,
  "evictions.maxPerNamespacePerMinute": ({ evictionRates }) => evictionRates?.perNamespacePerMinuteMax != null,
};

/** The pools of the node of a claim, in every state that the claim may describe: the node may have left since. */
function poolsOf({ truth, node, nodeSinceMs }: Claim): (string | undefined)[] {
  const states = truth.nodes.since(node, nodeSinceMs).filter((state) => state !== null);
  const pools = new Set(states.map(({ metadata }) => metadata.labels?.[POOL_LABEL]));
  return pools.size === 0 ? [undefined] : [...pools];
}

/** The policies that selected the node of a claim, one list for each state of the API that the claim may describe. */
function selecting(claim: Claim): (PolicyState & { name: string })[][] {
  const { policies, nodeSinceMs } = claim;
  const snapshots = policies?.api.since(nodeSinceMs) ?? [];
  return poolsOf(claim).flatMap((pool) => snapshots.map((snapshot) => policiesOf(snapshot, pool)));
}

/** The requests that freeze the node of a claim, or did or will. */
function pausesOf(claim: Claim): Pause[] {
  const { policies, nodeSinceMs } = claim;
  const everywhere = (policies?.api.since(nodeSinceMs) ?? []).flatMap((snapshot) => snapshot.everywhere);
  return [...everywhere, ...selecting(claim).flatMap((states) => states.flatMap(({ pauses }) => pauses))];
}

const maintained: Rule = ({ truth, node, nodeSinceMs }) =>
  truth.nodes
    .since(node, nodeSinceMs)
    .some((state) => state !== null && conditionOf(state, HOLD_TYPE)?.status === "True");
const frozen: Rule = (claim) => {
  const { policies, nodeSinceMs } = claim;
  return maintained(claim) || poolsOf(claim).some((pool) => policies?.wasFrozen(pool, nodeSinceMs) === true);
};
/** Frozen, and each user that the sentence names has requested it. */
const frozenBy: Rule = (claim) => {
  const named = (claim.values.by ?? "").match(/oncall-\d+/g) ?? [];
  const names = new Set(pausesOf(claim).map(({ name }) => name));
  return frozen(claim) && named.every((name) => names.has(name));
};
/** The instant that a sentence names. */
const namedMs = ({ values }: Claim): number => Date.parse(values.until ?? values.at ?? "");
/** Some request ends at an instant that a sentence names. */
const endsAt = (claim: Claim, isSo: (offMs: number) => boolean): boolean =>
  maintained(claim) || pausesOf(claim).some(({ until }) => until !== null && isSo(namedMs(claim) - until));
/**
 * Some freeze was removed before an instant that a sentence names. The policy service dates the end of such a freeze by
 * its own clock, so a process with a clock that is behind treats the end as planned.
 */
const isWithdrawnBefore = (claim: Claim): boolean => {
  const { policies, nodeSinceMs } = claim;
  if (policies === undefined) return false;
  const withdrawn = poolsOf(claim).flatMap((pool) => policies.withdrawals(pool, nodeSinceMs));
  return withdrawn.some((atMs) => namedMs(claim) >= atMs - policies.skewMs);
};
/** The same, and the named instant is no later than now by any clock. */
const hasJustEnded = (claim: Claim): boolean => {
  const { policies } = claim;
  return policies !== undefined && namedMs(claim) <= policies.nowMs + policies.skewMs && isWithdrawnBefore(claim);
};
/** The pod is bound to the node, which is frozen. */
const podFrozen: Rule = (claim) => {
  const { truth, pod, podSinceMs, node } = claim;
  const isBound = truth.pods.since(pod, podSinceMs).some((state) => state?.spec.nodeName === node);
  return isBound && frozen(claim);
};
/** The fields of which the side of a bus without the Lease permits no node. */
const LIMITS = ["circuitBreaker", "maxUnhealthy", "stormCooldownDuration", "budgets"];
const isLimited = (state: PolicyState): boolean => LIMITS.some((field) => SETS[field]?.(state) === true);

/** A policy requires NoExecute taints, so its nodes wait under the operator's ceiling. */
const isUnderCeiling = ({ conditions }: PolicyState): boolean =>
  conditions.some(({ taint }) => taint.endsWith(":NoExecute"));

/**
 * The named policy selects the node, and its named field may block it; or some limit needs the Lease; or the operator's
 * ceiling blocks it.
 */
const held: Rule = (claim) => {
  const { field = "", whose } = claim.values;
  const someOf = (isSo: (state: PolicyState) => boolean) => selecting(claim).some((policies) => policies.some(isSo));
  if (field === "the Lease vigil-limits") return someOf((state) => isLimited(state) || isUnderCeiling(state));
  if (field === "--policy-max-tainted-nodes") return whose === "the cluster" && someOf(isUnderCeiling);
  return selecting(claim).some((policies) =>
    policies.some((state) => whose === `NodePolicy ${state.name}` && SETS[field]?.(state) === true),
  );
};

/** The named policy selects the pod's node, and its named field, or any, limits the rate of evictions. */
const paced =
  (isSo: (rates: EvictionRates) => boolean): Rule =>
  (claim) => {
    const { field, policy } = claim.values;
    return selecting(claim).some((policies) =>
      policies.some((state) => {
        const { name, evictionRates } = state;
        const isNamed = name === policy && (field === undefined || SETS[field]?.(state) === true);
        return isNamed && evictionRates !== null && isSo(evictionRates);
      }),
    );
  };
const pacedAtAll = paced(() => true);
/** Some policy of the node names the taint and the type of the condition, and the node has had that status. */
const called =
  (isSo: (node: CheckedNode, type: string, status: string) => boolean): Rule =>
  (claim) => {
    const { condition = "", taint = "" } = claim.values;
    const [type = "", status = ""] = condition.split("=");
    const isNamed = selecting(claim).some((policies) =>
      policies.some(({ conditions }) => conditions.some((rule) => rule.type === type && rule.taint === taint)),
    );
    const states = claim.truth.nodes.since(claim.node, claim.nodeSinceMs);
    return isNamed && states.some((node) => node !== null && isSo(node, type, status));
  };
const hasStatus = called((node, type, status) => conditionOf(node, type)?.status === status);
const isTainted: Rule = ({ truth, node, nodeSinceMs, values }) =>
  truth.nodes.since(node, nodeSinceMs).some((state) => state !== null && taintsOf(state).includes(values.taint ?? ""));

function taintsOf({ spec }: CheckedNode): string[] {
  return (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
}

const hasReadinessTaint = ({ spec }: CheckedNode): boolean =>
  (spec?.taints ?? []).some(
    ({ key, effect }) => effect === "NoSchedule" && (key.endsWith("/not-ready") || key.endsWith("/unreachable")),
  );

const isOutOfService = ({ spec }: CheckedNode): boolean =>
  (spec?.taints ?? []).some(({ key, effect }) => key === "node.kubernetes.io/out-of-service" && effect === "NoExecute");
const proofOf = ({ metadata }: CheckedNode): string | undefined => metadata.annotations?.["vigil.v1/proved-down"];

/** Some state of the node that a claim may describe is so, and a policy of it sets outOfService. */
const someDeclarable =
  (isSo: (node: CheckedNode) => boolean): Rule =>
  (claim) =>
    claim.truth.nodes.since(claim.node, claim.nodeSinceMs).some((node) => node !== null && isSo(node)) &&
    selecting(claim).some((policies) => policies.some(({ outOfServiceMs }) => outOfServiceMs !== null));
const proved = someDeclarable(
  (node) => proofOf(node) !== undefined && conditionOf(node, "Ready")?.status === "Unknown",
);
const notDeclared = someDeclarable((node) => !isOutOfService(node));

/** The rules of sentences about the out-of-service taint. */
const OUT_OF_SERVICE_RULES = {
  nodeUnproved: notDeclared,
  nodeUnremediated: notDeclared,
  nodeProofOutdated: someDeclarable((node) => proofOf(node) !== undefined),
  nodeProofWaits: proved,
  nodeProofWaitsFrozen: proved,
  nodeProofNotAdmitted: proved,
  nodeProofHeld: proved,
  nodeProofDue: proved,
  nodeOutOfService: someDeclarable(isOutOfService),
  nodeOutOfServiceKept: someDeclarable(isOutOfService),
  nodeOutOfServiceTakenOff: notDeclared,
} as const satisfies Readonly<Record<string, Rule>>;

/** A policy of the node has remediations. */
const remediated: Rule = (claim) => {
  const pools = poolsOf(claim);
  // What was published of a policy before it changed counts for a while.
  const ever = claim.policies?.api.since(0) ?? [];
  const states = ever.flatMap((snapshot) => pools.flatMap((pool) => policiesOf(snapshot, pool)));
  return states.some(({ remediations }) => remediations > 0);
};

/** The node is Unknown, or silent, and a breaker of its policy has `holdReadiness`. */
const isSilentUnderBreaker: Rule = (claim) =>
  (claim.isSilent(claim.node) ||
    claim.truth.nodes
      .since(claim.node, claim.nodeSinceMs)
      .some((node) => node !== null && conditionOf(node, "Ready")?.status === "Unknown")) &&
  selecting(claim).some((policies) => policies.some(({ breaker }) => breaker?.holdsReadiness === true));

/** The rules, by name. */
export const POLICY_RULES: Readonly<Record<OfPolicies, Rule>> = {
  nodePolicyUnknown: (claim) => !claim.isCalm,
  podPolicyUnknown: (claim) => !claim.isCalm,
  nodeConflict: (claim) =>
    selecting(claim).some(
      (policies) => policies.length > 1 && policies.every(({ name }) => claim.values.policies?.includes(name)),
    ),
  nodeFrozen: frozenBy,
  nodeFrozenUntil: (claim) =>
    frozenBy(claim) && (endsAt(claim, (offMs) => Math.abs(offMs) <= SECOND_MS) || hasJustEnded(claim)),
  nodeFrozenBeside: () => false,
  queueFrozen: frozen,
  queueHeld: held,
  queueHeldUntil: held,
  nodeDelayed: (claim) =>
    claim.truth.nodes
      .since(claim.node, claim.nodeSinceMs)
      .some((node) => node !== null && conditionOf(node, "Ready")?.status === "False") &&
    selecting(claim).some((policies) => policies.some(({ unhealthyDelayMs }) => unhealthyDelayMs !== null)),
  // Every breaker of a run resets by itself.
  nodeReadinessHeld: () => false,
  nodeReadinessHeldUntil: (claim) => isSilentUnderBreaker(claim),
  nodeReadinessUnknown: (claim) => isSilentUnderBreaker(claim),
  nodeTaintHeld: (claim) => {
    const { field = "" } = claim.values;
    const isHeld = claim.truth.nodes
      .since(claim.node, claim.nodeSinceMs)
      .some((node) => node !== null && conditionOf(node, "Ready")?.status === "True" && hasReadinessTaint(node));
    if (!isHeld || field === "policies") return isHeld && !claim.isCalm;
    return selecting(claim).some((policies) => policies.some((state) => SETS[field]?.(state) === true));
  },
  podFrozen,
  podFrozenUntil: (claim) =>
    podFrozen(claim) && (endsAt(claim, (offMs) => offMs >= -SECOND_MS) || isWithdrawnBefore(claim)),
  podFrozenDue: podFrozen,
  podFrozenStill: podFrozen,
  ...OUT_OF_SERVICE_RULES,
  nodeRemediationWaits: remediated,
  nodeRemediationDry: () => false,
  nodeRemediationAccepted: () => false,
  nodeRemediationDue: remediated,
  nodeRemediated: remediated,
  nodeRemediationUnanswered: remediated,
  nodeRemediationSucceeded: remediated,
  nodeRemediationsOver: remediated,
  nodeConditionWaits: hasStatus,
  nodeConditionUnrecorded: hasStatus,
  nodeConditionCalls: hasStatus,
  nodeConditionHeals: (claim) => hasStatus(claim) && isTainted(claim),
  nodeConditionMissing: isTainted,
  nodeConditionLeft: isTainted,
  podPaced: pacedAtAll,
  podPacedBehind: pacedAtAll,
  podPacedNever: paced((rates) => Object.values(rates).includes(0)),
  podPacedUnleased: pacedAtAll,
  podPacedElsewhere: pacedAtAll,
  podPacedUnknown: pacedAtAll,
  // While a process does not know the policies, it has the last judgement alone. A freeze by mode that has just begun
  // lies ahead by a clock that is behind.
  podFreezeAhead: (claim) => pausesOf(claim).some(({ until }) => until === null) || (frozen(claim) && !claim.isCalm),
};
