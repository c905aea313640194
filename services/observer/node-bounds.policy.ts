/** Limits how many taints of a node are published. A kubelet may register its node with any number of them. */
import { CONDITION_TAINT_KEYS, TaintEffect } from "../../protocols/names.ts";
import { type ObservedNode, TAINTS_MAX, type Taint } from "../../protocols/objects.ts";
import { taintName } from "../domain/toleration.ts";

/** The longest taint that the API server accepts: a qualified name, a label value and an instant. */
const KEY_CHARACTERS_MAX = 253 + 1 + 63;
const VALUE_CHARACTERS_MAX = 63;
const TIME_CHARACTERS_MAX = 64;

/**
 * The node with at most TAINTS_MAX taints, in their order. Taints with our own keys are kept first, then other
 * NoExecute taints, then the rest, on which nothing is decided. Returns the same object if no taint is left out.
 */
export function boundedNode(node: ObservedNode): ObservedNode {
  const { taints, taintsSeenAt } = node;
  if (taints.length <= TAINTS_MAX && taints.every(isOrdinary)) return node;
  const byRank = taints.filter(isOrdinary).sort((left, right) => rankOf(left, node) - rankOf(right, node));
  const kept = new Set(byRank.slice(0, TAINTS_MAX));
  const names = new Set([...kept].map(taintName));
  const seen = Object.entries(taintsSeenAt ?? {}).filter(([name]) => names.has(name));
  return {
    ...node,
    taints: taints.filter((taint) => kept.has(taint)),
    taintsOmitted: taints.length - kept.size,
    ...(taintsSeenAt === undefined ? {} : { taintsSeenAt: Object.fromEntries(seen) }),
  };
}

function rankOf(taint: Taint, { conditionTaints = {} }: Pick<ObservedNode, "conditionTaints">): number {
  if (CONDITION_TAINT_KEYS.includes(taint.key) || Object.hasOwn(conditionTaints, taintName(taint))) return 0;
  return taint.effect === TaintEffect.noExecute ? 1 : 2;
}

function isOrdinary({ key, value = "", effect, timeAdded = "" }: Taint): boolean {
  return (
    key.length <= KEY_CHARACTERS_MAX &&
    value.length <= VALUE_CHARACTERS_MAX &&
    effect.length <= TaintEffect.preferNoSchedule.length &&
    timeAdded.length <= TIME_CHARACTERS_MAX
  );
}
