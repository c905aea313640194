/** What counts as the failure of a node in a comparison: Unknown, or a NoExecute taint of any key. */
import type { AnyMessage, BodyOf } from "../../../protocols/messages.ts";
import { TaintEffect, TaintKey } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { noExecuteTaints, taintName } from "../../domain/toleration.ts";

const OWN_KEYS: readonly string[] = [TaintKey.notReady, TaintKey.unreachable];

/** The NoExecute taints that the API shows: the one that upstream or Vigil sets, and those of other keys. */
export function noExecuteOf({ taints, shadow }: ObservedNode): { own: Taint | null; others: readonly string[] } {
  const unsent = new Set(shadow?.added?.map(taintName));
  const real = [...taints.filter((taint) => !unsent.has(taintName(taint))), ...(shadow?.removed ?? [])];
  const found = noExecuteTaints(real);
  const isOwn = ({ key }: Taint): boolean => OWN_KEYS.includes(key);
  return { own: found.find(isOwn) ?? null, others: found.filter((taint) => !isOwn(taint)).map(taintName) };
}

/** Whether a node is Unknown or carries a NoExecute taint, be it only in shadow mode. */
export function isFailing(node: ObservedNode): boolean {
  const { own, others } = noExecuteOf(node);
  const isTainted = own !== null || others.length > 0 || noExecuteTaints(node.taints).length > 0;
  return isTainted || readyConditionOf(node)?.status === "Unknown";
}

/** Whether a request sets the NoExecute taint of a failed node. */
export function addsNoExecute(request: AnyMessage | undefined): boolean {
  const isTaint = (body: AnyMessage["body"]): body is BodyOf<"asked.taint"> => "add" in body;
  if (request === undefined || !isTaint(request.body)) return false;
  return request.body.add.some(({ effect }) => effect === TaintEffect.noExecute);
}
