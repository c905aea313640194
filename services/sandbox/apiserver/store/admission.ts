/** The admission steps that a node lifecycle controller meets: taints on new nodes, tolerations on pods. Pure. */
import { TaintEffect, TaintKey } from "../../../../protocols/names.ts";
import { type JsonObject, textOf } from "../api-objects.ts";

/**
 * Seconds that a pod stays on a node that is not ready or unreachable when it does not say itself (8.10, upstream flag
 * default).
 */
const DEFAULT_TOLERATION_SECONDS = 300;

/** Taints of a node at its creation: not-ready:NoSchedule joins them, without timeAdded, unless it is there (R4.22). */
export function notReadyTaint(taints: readonly JsonObject[]): JsonObject[] {
  const present = taints.some((taint) => taint.key === TaintKey.notReady && taint.effect === TaintEffect.noSchedule);
  return present ? [...taints] : [...taints, { key: TaintKey.notReady, effect: TaintEffect.noSchedule }];
}

/**
 * Tolerations of a pod at its creation and update, with the default ones where it does not speak of a taint itself
 * (8.10).
 */
export function defaultTolerations(tolerations: readonly JsonObject[]): JsonObject[] {
  const added = [TaintKey.notReady, TaintKey.unreachable].filter((key) => !tolerations.some(hasKey(key)));
  return [
    ...tolerations,
    ...added.map((key) => ({
      key,
      operator: "Exists",
      effect: TaintEffect.noExecute,
      tolerationSeconds: DEFAULT_TOLERATION_SECONDS,
    })),
  ];
}

/** Operator, value and seconds do not count: any toleration that names the key, or none, and the effect, or none. */
function hasKey(key: string): (toleration: JsonObject) => boolean {
  return (toleration) =>
    ["", key].includes(textOf(toleration, "key")) && ["", TaintEffect.noExecute].includes(textOf(toleration, "effect"));
}
