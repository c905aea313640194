/** What counts as the failure of a node in a comparison: Unknown, or a NoExecute taint of any key. */
import { TaintEffect, TaintKey } from "../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../protocols/objects.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { noExecuteTaints, taintName } from "../../domain/toleration.ts";

/** A watch shows a change within this time of its stamp, cut to whole seconds; later ones were shown late. */
const SHOWN_WITHIN_MS = 5_000;
const OWN_KEYS: readonly string[] = [TaintKey.notReady, TaintKey.unreachable];

/** The NoExecute taints that the API shows: the one that upstream or Vigil adds, and those of other keys. */
export function noExecuteOf({ taints, shadow }: ObservedNode): { own: Taint | null; others: readonly string[] } {
  const unsent = new Set(shadow?.added?.map(taintName));
  const real = [...taints.filter((taint) => !unsent.has(taintName(taint))), ...(shadow?.removed ?? [])];
  const found = noExecuteTaints(real);
  const isOwn = ({ key }: Taint): boolean => OWN_KEYS.includes(key);
  return { own: found.find(isOwn) ?? null, others: found.filter((taint) => !isOwn(taint)).map(taintName) };
}

/** Whether a node is Unknown or carries a NoExecute taint, be it only in shadow mode. */
function isFailing(node: ObservedNode): boolean {
  const { own, others } = noExecuteOf(node);
  const isTainted = own !== null || others.length > 0 || noExecuteTaints(node.taints).length > 0;
  return isTainted || readyConditionOf(node)?.status === "Unknown";
}

/** What one observation of a node shows of its failure. */
export interface ObservedFailure {
  readonly isFailing: boolean;
  /** Whether it shows Ready=Unknown, and one of the taints that upstream or Vigil adds. */
  readonly unknown: boolean;
  readonly noExecute: boolean;
  readonly resourceVersion: string;
}

/** What an observation shows, without what only shadow mode shows. */
export function observedFailure(node: ObservedNode): ObservedFailure {
  const { resourceVersion, shadow } = node;
  const unknown = readyConditionOf(node)?.status === "Unknown" && shadow?.verdict === undefined;
  return { isFailing: isFailing(node), unknown, noExecute: noExecuteOf(node).own !== null, resourceVersion };
}

/**
 * When a change of a node happened. The watch shows it to the millisecond, but a reader that did not see the node
 * without it, or was shown it long after, has only the API's stamp, which is cut to whole seconds.
 */
export function changedAt(stampAt: number | null, shownAt: number, wasSeenWithout: boolean): number {
  if (stampAt === null || (wasSeenWithout && shownAt - stampAt <= SHOWN_WITHIN_MS)) return shownAt;
  return Math.min(stampAt, shownAt);
}

/** Whether a text of a write names the NoExecute taint of a failed node as added. */
export function addsNoExecute(change: string): boolean {
  return OWN_KEYS.some((key) => change.includes(`+${taintName({ key, effect: TaintEffect.noExecute })}`));
}

/** A step of a failure. */
export type FailureStep = "unknown" | "noExecute" | "notReady" | "deleted";

/** The step that each type of request is for. */
export const STEPS_BY_REQUEST: Readonly<Record<string, FailureStep>> = {
  "asked.condition": "unknown",
  "asked.taint": "noExecute",
  "asked.unready": "notReady",
  "asked.eviction": "deleted",
};
