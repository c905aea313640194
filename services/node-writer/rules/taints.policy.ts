/**
 * Upstream's taints: NoSchedule by conditions, and the two that evict. The record of taint starts and the lineage of a
 * swap are written with them.
 */
import { Annotation, CONDITION_TAINT_KEYS, TaintEffect } from "../../../protocols/names.ts";
import { isReservedTaintKey } from "../../../protocols/node-policy.ts";
import type { ConditionStatus, ObservedNode, Taint, TaintId } from "../../../protocols/objects.ts";
import { apiMicroTime } from "../../domain/api-time.ts";
import { isOutOfService } from "../../domain/out-of-service.ts";
import { evictingTaintOf, taintSwapOf, taintSwapText } from "../../domain/taint-swap.ts";
import { isSameTaint, isSwappable, taintName } from "../../domain/toleration.ts";
import {
  type AnnotationPatch,
  NO_BASIS,
  type TaintContext,
  type TaintPatch,
  type TaintRequest,
  type TaintRule,
} from "./taint-rule.ts";

/** Whether a taint evicts pods. */
export function isEviction({ effect }: TaintId): boolean {
  return effect === TaintEffect.noExecute;
}

/** The taints that upstream's controllers set. */
export const UPSTREAM_TAINTS: TaintRule = {
  owns: (id) => isSwappable(id) || (id.effect === TaintEffect.noSchedule && CONDITION_TAINT_KEYS.includes(id.key)),
  founded: () => null,
  annotations: swapAnnotation,
  basis: () => NO_BASIS,
};

/**
 * Why no service of Vigil requests such a change for its reason; null if one may. A grant adds one NoExecute taint and
 * changes no other effect, a swap adds one of Vigil's two, `conditions` adds none, and healing adds no taint at all.
 */
export function allowsTaints({ add, remove, why }: TaintRequest): string | null {
  const all = [...add, ...remove];
  const evicting = all.filter(isEviction);
  const added = add.filter(isEviction);
  const matchesReason = {
    granted: added.length === 1 && evicting.length === all.length && isSameKind(added, remove),
    swap: added.length === 1 && added.every(isSwappable),
    conditions: added.length === 0,
    healing: add.length === 0,
  };
  return matchesReason[why] ? null : `for ${why} Vigil does not add ${add.map(taintName).join(" ") || "no taint"}`;
}

/** A grant replaces the opposite taint of Vigil's two; one for a condition replaces nothing. */
function isSameKind(added: readonly TaintId[], removed: readonly TaintId[]): boolean {
  return removed.length === 0 || [...added, ...removed].every(isSwappable);
}

/**
 * The record of taint starts beside a NoExecute taint that is added, without entries of removed taints. The
 * taint-manager may not have removed them yet, and a process that starts now would read one as the start of this taint.
 */
export function startsAnnotation({ kept, added }: TaintPatch, { live }: TaintContext): AnnotationPatch {
  const { taintsSeenAt = {}, taintsSeenStale } = live ?? {};
  if (taintsSeenStale !== true || !added.some(isEviction)) return {};
  const present = kept.flatMap((taint) => {
    const at = taintsSeenAt[taintName(taint)];
    return at === undefined ? [] : [[taintName(taint), apiMicroTime(at)] as const];
  });
  return { [Annotation.taintsSeen]: present.length === 0 ? null : JSON.stringify(Object.fromEntries(present)) };
}

/**
 * The annotation beside the removal of our NoExecute taint: if the opposite replaces it, the lineage of the two,
 * because the pods' countdowns continue (R8.18); otherwise the end of the lineage.
 */
function swapAnnotation({ kept, added, removed }: TaintPatch, { seen, wallMs }: TaintContext): AnnotationPatch {
  const replaced = removed.find(isSwappable);
  if (replaced === undefined || kept.some(isSwappable)) return {};
  const swap = added.some(isSwappable) ? taintSwapOf(replaced, seen, wallMs) : null;
  if (swap === null && seen.taintSwap === undefined) return {};
  return { [Annotation.taintSwap]: swap === null ? null : taintSwapText(swap) };
}

/** Whether a taint evicts although the node's Ready status does not require it, or no live read supports it. */
export function isUnwarrantedEviction(id: TaintId, live: ObservedNode | null, ready: ConditionStatus | null): boolean {
  if (!isReservedTaintKey(id.key) || !isEviction(id) || isOutOfService(id)) return false;
  return live === null || evictingTaintOf(ready)?.key !== id.key;
}

/** What to add. A swap whose opposite is gone adds no NoExecute taint: that needs a grant of the zone (P5). */
export function wantedOf(
  { why, add, remove }: Pick<TaintRequest, "why" | "add" | "remove">,
  before: readonly Taint[],
): TaintRequest["add"] {
  const hasOpposite = before.some((taint) => isEviction(taint) && remove.some((id) => isSameTaint(id, taint)));
  return why === "swap" && !hasOpposite ? add.filter((id) => !isEviction(id)) : add;
}

/**
 * Whether a taint is the opposite of an added one. It is removed even if a request omits it: no node has both (L20).
 */
export function isOpposite(taint: TaintId, added: readonly TaintId[]): boolean {
  return isSwappable(taint) && added.some((id) => isSwappable(id) && !isSameTaint(id, taint));
}
