/**
 * Whether a node's judgement contradicts its observation. It does for a moment while a write is under way, and for long
 * only when a message was lost.
 */
import type { JudgedCondition } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ObservedNode, TaintId } from "../../protocols/objects.ts";
import type { PolicySet } from "../../protocols/policy-set.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "./node-conditions.ts";
import { policyOf } from "./node-policy.ts";
import { isSwappable } from "./toleration.ts";
import { domainKeyOf, isCounted, partsOfDomain, zoneKeyOf } from "./zone-key.ts";

type Judgement = BodyOf<"judged.node">;

/** What a judgement is based on. */
export interface JudgedBy {
  readonly evictionMode: Profile["evictionMode"];
  /** Null while they are not known. */
  readonly policies: PolicySet | null;
}

/** Whether a judgement contradicts anything observed of a node of its name: uid, status, zone, exclusion or policy. */
export function contradicts(
  judged: Pick<Judgement, "uid" | "ready" | "eviction" | "zone" | "counted" | "policy" | "conflict">,
  observed: ObservedNode,
  { evictionMode, policies }: JudgedBy,
): boolean {
  return (
    judged.uid !== observed.uid ||
    judged.counted !== isCounted(observed.labels) ||
    contradictsStatus(judged, observed, evictionMode) ||
    contradictsPolicy(judged, observed, policies)
  );
}

/** While the policy of a node is not known, the judgement is by the one before, and only its zone can be compared. */
function contradictsPolicy(
  judged: Pick<Judgement, "zone" | "policy" | "conflict">,
  observed: ObservedNode,
  policies: PolicySet | null,
): boolean {
  const resolved = policyOf(observed, policies);
  if (resolved.kind === "unknown") return partsOfDomain(judged.zone).zone !== zoneKeyOf(observed.labels);
  const policy = resolved.kind === "policy" ? resolved.policy : null;
  return (
    judged.zone !== domainKeyOf(observed.labels, policy) ||
    judged.policy !== policy?.name ||
    (judged.conflict !== undefined) !== (resolved.kind === "conflict")
  );
}

/**
 * Whether it contradicts the observed Ready status or the eviction: in taint mode a node is evicted if and only if it
 * carries our taint.
 */
function contradictsStatus(
  judged: Pick<Judgement, "ready" | "eviction">,
  observed: Pick<ObservedNode, "conditions" | "taints">,
  evictionMode: Profile["evictionMode"],
): boolean {
  return (
    judged.ready !== (readyConditionOf(observed)?.status ?? null) ||
    (evictionMode === "taint" && (judged.eviction === "evicted") !== observed.taints.some(isSwappable))
  );
}

/**
 * The NoExecute taint that a node gets once its zone admits it, in taint mode: for its readiness, else for a condition
 * that its policy names; null when it waits for none.
 */
export function waitingTaintOf({
  eviction,
  ready,
  conditions = [],
}: Pick<Judgement, "eviction" | "conditions"> & Partial<Pick<Judgement, "ready">>): TaintId | null {
  if (eviction === "toBeEvicted") {
    return { key: ready === "False" ? TaintKey.notReady : TaintKey.unreachable, effect: TaintEffect.noExecute };
  }
  return (
    conditions.find(({ state, taint }) => state === "due" && taint.effect === TaintEffect.noExecute)?.taint ?? null
  );
}

/** Whether a condition of a node evicts its pods, or has evicted them. */
function hasEvictingCondition({ conditions = [] }: Pick<Judgement, "conditions">): boolean {
  return conditions.some(
    ({ state, taint }) => taint.effect === TaintEffect.noExecute && state !== "waiting" && state !== "left",
  );
}

/**
 * Whether a node counts as unhealthy, for maxUnhealthy and in tables: it is down, or a condition evicts its pods. One
 * that has not posted its status yet is new.
 */
export function isUnhealthy(judged: Pick<Judgement, "readiness" | "conditions">): boolean {
  return judged.readiness === "notReady" || judged.readiness === "unknown" || hasEvictingCondition(judged);
}

/** A condition as people write it: `KernelDeadlock=True`. */
export function conditionText({ type, status }: Pick<JudgedCondition, "type" | "status">): string {
  return `${type}${status === undefined ? " (missing)" : `=${status}`}`;
}
