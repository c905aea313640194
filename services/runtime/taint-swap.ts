/**
 * What a node's annotation records when one of our two NoExecute taints takes the other's place, and how it is read. It
 * decides on no eviction.
 */
import { TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ObservedNode, Taint, TaintId, TaintSwap } from "../../protocols/objects.ts";
import { apiMicroTime, apiTime, epochMsOf } from "./api-time.ts";
import { parsed, recordOf } from "./kube.json.ts";
import type { TaintLine } from "./toleration.ts";

/** The two taints that take each other's place as the node's Ready status changes between False and Unknown (4.7). */
const OPPOSITES: readonly TaintId[] = [TaintKey.notReady, TaintKey.unreachable].map((key) => ({
  key,
  effect: TaintEffect.noExecute,
}));

/** Whether a taint is one of the two. */
export function isSwappable({ key, effect }: TaintId): boolean {
  return OPPOSITES.some((opposite) => opposite.key === key && opposite.effect === effect);
}

/** What an ask about a node's taints tells of those it has. */
export function taintsSeenOn({ taints, taintSwap }: ObservedNode): Pick<ObservedNode, "taints" | "taintSwap"> {
  return { taints, ...(taintSwap === undefined ? {} : { taintSwap }) };
}

/**
 * What to record when a taint takes the place of `replaced` at `at`, in epoch milliseconds; null when it is not known
 * since when that one counted.
 */
export function swapOf(replaced: Taint, node: Pick<ObservedNode, "taintSwap">, at: number): TaintSwap | null {
  const line = lineOf(replaced, node);
  const firstAt = line?.since ?? epochMsOf(replaced.timeAdded);
  if (firstAt === null) return null;
  const stampAt = epochMsOf(apiTime(at)) ?? at;
  return { at: stampAt, firstKey: line?.first.key ?? replaced.key, firstAt, secondAt: line?.secondSince ?? stampAt };
}

/** The annotation that tells of a swap (Annotation.taintSwap). */
export function taintSwapText({ at, firstKey, firstAt, secondAt }: TaintSwap): string {
  const [first, second] = [firstAt, secondAt].map(apiMicroTime);
  return JSON.stringify({ timeAdded: apiTime(at), first: { key: firstKey, since: first }, second: { since: second } });
}

/** Reads that annotation; null when it makes no sense. */
export function readTaintSwap(text: string): TaintSwap | null {
  const { timeAdded, first, second } = recordOf(parsed(text));
  const { key } = recordOf(first);
  const [at, firstAt, secondAt] = [timeAdded, recordOf(first).since, recordOf(second).since].map((time) =>
    typeof time === "string" ? epochMsOf(time) : null,
  );
  if (at == null || firstAt == null || secondAt == null) return null;
  return OPPOSITES.some((taint) => taint.key === key) ? { at, firstKey: String(key), firstAt, secondAt } : null;
}

/**
 * The line that a taint on a node continues; null when it took no other's place. The record counts only for the taint
 * with the stamp it names: one that somebody put there later begins anew.
 */
export function lineOf(taint: Taint, { taintSwap }: Pick<ObservedNode, "taintSwap">): TaintLine | null {
  if (taintSwap === undefined || epochMsOf(taint.timeAdded) !== taintSwap.at || !isSwappable(taint)) return null;
  const { firstKey, firstAt, secondAt } = taintSwap;
  const [first, second] = firstKey === TaintKey.notReady ? OPPOSITES : OPPOSITES.toReversed();
  return first === undefined || second === undefined ? null : { first, second, since: firstAt, secondSince: secondAt };
}
