/**
 * When a silent node is declared out of service: its policy says so, its machine is proved to be off, and the proof is
 * newer than its silence. Upstream's pod garbage collector then deletes its terminating pods, and the attach-detach
 * controller detaches their volumes. Both do that although no kubelet has confirmed anything, so a wrong taint corrupts
 * data: it is not added while anything is unknown. The node service decides by this rule, and the node-writer again on
 * the live node. It reads no clock. Example: a node is Unknown since 12:00:00 and `after` is 10 min. A proof of 11:59
 * is from before the silence and counts for nothing. A proof of 12:03 counts, and the taint is due at 12:10:01, because
 * the stamp of 12:00:00 is cut to a second.
 */
import { isOwnTaintValue, OWN_TAINT_VALUE, TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ObservedNode, Taint, TaintId } from "../../protocols/objects.ts";
import type { FrozenInterval, OutOfServiceSettings } from "../../protocols/policy-set.ts";
import { API_TIME_STEP_MS, epochMsOf } from "./api-time.ts";
import { readyConditionOf } from "./node-conditions.ts";
import { NO_OUTAGES, type OutageTime, silenceCountdownEndAt } from "./paused-time/outages.ts";
import { isSwappable } from "./toleration.ts";

/** The taint. Kubernetes reads no value of it; this one says that it is Vigil's. */
export const OUT_OF_SERVICE: Taint = {
  key: TaintKey.outOfService,
  value: `${OWN_TAINT_VALUE}-nodeshutdown`,
  effect: TaintEffect.noExecute,
};

/** How far a node is from the taint by what the API shows. */
export type OutOfServiceStage =
  | { readonly state: "unproved" | "outdated" | "notAdmitted" | "due" | "on" | "takenOff" }
  | { readonly state: "waits"; readonly fromAt: number };

/** The fields of a node that decide. */
type SilentNode = Pick<ObservedNode, "conditions" | "taints" | "provedDown" | "outOfServiceAt">;

/** Whether a taint is the one that declares its node out of service. */
export function isOutOfService({ key, effect }: TaintId): boolean {
  return key === OUT_OF_SERVICE.key && effect === OUT_OF_SERVICE.effect;
}

/** The earliest proof of a node's silence, in epoch milliseconds; null while it is not silent by what the API shows. */
export function provableFrom(node: Pick<ObservedNode, "conditions">): number | null {
  const ready = readyConditionOf(node);
  if (ready?.status !== "Unknown" || ready.transitionAt === null) return null;
  // The condition is stamped in whole seconds, and a proof of that same second may be older.
  return ready.transitionAt + API_TIME_STEP_MS;
}

/**
 * How far a node is from the taint; null for a node that is not silent. Its `after` is paused while the node is frozen,
 * by intervals that are merged, and in outages.
 */
export function outOfServiceStage(
  node: SilentNode,
  { afterMs, proofs }: Pick<OutOfServiceSettings, "afterMs" | "proofs">,
  frozen: readonly FrozenInterval[],
  wallMs: number,
  outages: OutageTime = NO_OUTAGES,
): OutOfServiceStage | null {
  const silentAt = provableFrom(node);
  if (silentAt === null) return null;
  if (node.taints.some(isOutOfService)) return { state: "on" };
  const { provedDown, outOfServiceAt } = node;
  const isProof = provedDown !== undefined && proofs.includes(provedDown.proof);
  // A proof from the future would outlive a return of the node.
  if (!isProof || provedDown.at > wallMs + API_TIME_STEP_MS) return { state: "unproved" };
  if (provedDown.at < silentAt) return { state: "outdated" };
  if (outOfServiceAt !== undefined && outOfServiceAt + API_TIME_STEP_MS > provedDown.at) return { state: "takenOff" };
  const fromAt = silenceCountdownEndAt(silentAt, afterMs, { frozen, outages });
  if (wallMs < fromAt) return { state: "waits", fromAt };
  // Limits, freezes and halts block the taint of an eviction, and this one comes after it.
  return { state: node.taints.some(isSwappable) ? "due" : "notAdmitted" };
}

/** Vigil's own out-of-service taint on a node; null when there is none, or another client added it. */
export function ownOutOfServiceTaint({
  taints,
  outOfServiceAt,
}: Pick<ObservedNode, "taints" | "outOfServiceAt">): Taint | null {
  if (outOfServiceAt === undefined) return null;
  const isOwn = (taint: Taint): boolean => isOutOfService(taint) && isOwnTaintValue(taint.value);
  return taints.find((taint) => isOwn(taint) && epochMsOf(taint.timeAdded) === outOfServiceAt) ?? null;
}
