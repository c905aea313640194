/**
 * Drops the tolerations of a pod that can decide no eviction: a pod may carry thousands, and a message holds 64 KiB.
 */
import type { Toleration } from "../../protocols/objects.ts";
import { isKnownOperator, mayConcernNoExecute } from "./toleration.ts";

/**
 * The tolerations that can be the first to match some NoExecute taint, in order (R8.34): for every such taint the same
 * one decides as in the whole list. Dropped are those of other effects, and behind one that matches all they do. One
 * with an unknown operator or effect may match, so it is kept, and holds the pod whatever comes behind it.
 */
export function reducedTolerations(list: readonly Toleration[]): Toleration[] {
  const kept: Toleration[] = [];
  const keys = new Set<string>();
  const seen = new Set<string>();
  for (const toleration of list) {
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    if (!mayConcernNoExecute(effect) || keys.has(key)) continue;
    const match = JSON.stringify([key, operator === "" ? "Equal" : operator, value]);
    if (seen.has(match)) continue;
    kept.push(toleration);
    const isWhole = operator === "Exists" || !isKnownOperator(operator);
    if (isWhole && key === "") break;
    if (isWhole) keys.add(key);
    else seen.add(match);
  }
  return kept;
}
