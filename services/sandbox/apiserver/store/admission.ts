/** The admission steps that concern a node lifecycle controller: taints on new nodes, tolerations on pods. Pure. */
import { TaintEffect, TaintKey } from "../../../../protocols/names.ts";
import { type JsonObject, textOf } from "../api-objects.ts";

/** Default toleration of not-ready and unreachable, in seconds (upstream's flag default). */
const DEFAULT_TOLERATION_SECONDS = 300;

/** The taints of a new node, with not-ready:NoSchedule added unless present, without timeAdded (R4.22). */
export function notReadyTaint(taints: readonly JsonObject[]): JsonObject[] {
  const present = taints.some((taint) => taint.key === TaintKey.notReady && taint.effect === TaintEffect.noSchedule);
  return present ? [...taints] : [...taints, { key: TaintKey.notReady, effect: TaintEffect.noSchedule }];
}

/**
 * The tolerations of a pod on create and update, with the defaults for each of the two taints that it does not mention.
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

/**
 * Whether a toleration mentions the taint: its key or none, and the effect or none. Operator, value and seconds do not
 * count.
 */
function hasKey(key: string): (toleration: JsonObject) => boolean {
  return (toleration) =>
    ["", key].includes(textOf(toleration, "key")) && ["", TaintEffect.noExecute].includes(textOf(toleration, "effect"));
}
