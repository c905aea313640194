/**
 * Decides how a pod is evicted: deleted, as upstream does, or through the Eviction API, which refuses while a
 * disruption budget needs the pod. It sends nothing.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, ObservedPod, Taint } from "../../protocols/objects.ts";
import type { EvictionSettings } from "../../protocols/policy-set.ts";
import type { WriteReply } from "../../protocols/ports.ts";
import { deleteAt, type RefusedEviction } from "../domain/refused-eviction.ts";
import { taintStartAt } from "../domain/taint-swap.ts";
import { evictionOf, type TolerationRules } from "../domain/toleration.ts";

/** The settings of a node without a policy, or whose policy has no field `evictions`. */
export const UPSTREAM_EVICTIONS: EvictionSettings = {
  method: "Delete",
  deleteAfterMs: null,
  perMinuteMax: null,
  perNamespacePerMinuteMax: null,
};

/** When an eviction was due, and what has counted since: instants of the API's clock, in epoch milliseconds. */
export interface EvictionInstants extends RefusedEviction {
  readonly nowAt: number;
}

/**
 * Since when a pod is due. Each request for a pod that does not tolerate its taint names its own instant. So such a pod
 * is due since the taint began, or since the pod was bound. If the API does not show that, it is due since its first
 * refusal. Example: a node is tainted at 10:00, and the pod is bound at 10:02. A request of 10:03 and one of 10:05 both
 * make it due at 10:02.
 */
export function dueSince(
  request: Pick<BodyOf<"asked.eviction">, "deadlineAt">,
  node: ObservedNode,
  { tolerations, boundAt }: Pick<ObservedPod, "tolerations" | "boundAt">,
  {
    taint,
    refusedAt,
    comparisonOperators,
  }: {
    readonly taint: Taint | null;
    readonly refusedAt: number;
  } & Pick<TolerationRules, "comparisonOperators">,
): number {
  if (taint === null) return request.deadlineAt;
  const startAt = taintStartAt(taint, node) ?? refusedAt;
  const due = evictionOf([{ taint, since: startAt }], tolerations, boundAt, { comparisonOperators });
  return due?.at === Number.NEGATIVE_INFINITY
    ? Math.min(request.deadlineAt, Math.max(startAt, boundAt))
    : request.deadlineAt;
}

/** What follows the reply to an eviction. */
export type AfterEviction =
  | { readonly kind: "report" }
  /** The eviction is attempted again, within some time so that the deletion is not late; null for the usual pause. */
  | { readonly kind: "retry"; readonly withinMs: number | null }
  | { readonly kind: "delete" };

/** Replies that settle an eviction, or do not show whether it is allowed. */
const SETTLING: readonly WriteReply["outcome"][] = ["ok", "gone", "conflict", "unknown", "shadowed"];

/**
 * What follows the reply to an eviction. A refusal is retried until the pod may be deleted. A busy server has not
 * refused the eviction. A lost reply may be that of a completed eviction, so it is reported.
 */
export function afterEviction(
  settings: EvictionSettings,
  reply: WriteReply,
  instants: EvictionInstants,
): AfterEviction {
  const isLate = reply.outcome !== "ok" && reply.outcome !== "throttled" && reply.isLate === true;
  if (SETTLING.includes(reply.outcome) || isLate) return { kind: "report" };
  const isBusy = reply.outcome === "throttled" && reply.disruptionBudget === undefined;
  const at = deleteAt(settings, instants);
  if (at === null || isBusy) return { kind: "retry", withinMs: null };
  return instants.nowAt >= at ? { kind: "delete" } : { kind: "retry", withinMs: at - instants.nowAt };
}
