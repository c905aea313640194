/**
 * Drops the tolerations of a pod that can decide no eviction: a pod may carry thousands, and a message holds 64 KiB.
 */
import { TaintEffect } from "../../protocols/names.ts";
import type { Toleration } from "../../protocols/objects.ts";

const OPERATORS: readonly string[] = ["", "Exists", "Equal", "Lt", "Gt"];

/**
 * The tolerations that can be the first to match some NoExecute taint, in order (R8.34): for every such taint the same
 * one decides as in the whole list. Dropped are those of other effects, of unknown operators, and behind one that
 * matches all they do.
 */
export function reducedTolerations(list: readonly Toleration[]): Toleration[] {
  const kept: Toleration[] = [];
  const keys = new Set<string>();
  const seen = new Set<string>();
  for (const toleration of list) {
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    if (effect !== "" && effect !== TaintEffect.noExecute) continue;
    if (!OPERATORS.includes(operator) || keys.has(key)) continue;
    const match = JSON.stringify([key, operator === "" ? "Equal" : operator, value]);
    if (seen.has(match)) continue;
    kept.push(toleration);
    if (operator === "Exists" && key === "") break;
    if (operator === "Exists") keys.add(key);
    else seen.add(match);
  }
  return kept;
}
