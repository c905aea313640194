/**
 * What of a node is published when it carries more taints than a message should hold. A kubelet registers its node with
 * whatever taints it likes, so that their number is not to be trusted.
 */
import { CONDITION_TAINT_KEYS, TaintEffect } from "../../protocols/names.ts";
import { type ObservedNode, TAINTS_MAX, type Taint } from "../../protocols/objects.ts";
import { taintName } from "../domain/toleration.ts";

/** Longest taint, as the API server validates it: a qualified name, a label value and an instant. */
const KEY_CHARACTERS_MAX = 253 + 1 + 63;
const VALUE_CHARACTERS_MAX = 63;
const TIME_CHARACTERS_MAX = 64;

/**
 * The node with at most TAINTS_MAX taints, in their order: those under our own keys before other NoExecute taints, and
 * these before the rest, on which nothing is decided. The same object where nothing has to be left out.
 */
export function boundedNode(node: ObservedNode): ObservedNode {
  const { taints, taintsSeenAt } = node;
  if (taints.length <= TAINTS_MAX && taints.every(isOrdinary)) return node;
  const byRank = taints.filter(isOrdinary).sort((left, right) => rankOf(left) - rankOf(right));
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

function rankOf({ key, effect }: Taint): number {
  if (CONDITION_TAINT_KEYS.includes(key)) return 0;
  return effect === TaintEffect.noExecute ? 1 : 2;
}

function isOrdinary({ key, value = "", effect, timeAdded = "" }: Taint): boolean {
  return (
    key.length <= KEY_CHARACTERS_MAX &&
    value.length <= VALUE_CHARACTERS_MAX &&
    effect.length <= TaintEffect.preferNoSchedule.length &&
    timeAdded.length <= TIME_CHARACTERS_MAX
  );
}
