/**
 * What is known of a NoExecute taint that took its opposite's place: since when the two, one after the other, have
 * stood there. It decides on no eviction.
 */
import { TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ObservedNode, Taint, TaintId } from "../../protocols/objects.ts";
import { apiMicroTime, apiTime, epochMsOf } from "./api-time.ts";
import { parsed, recordOf } from "./kube.json.ts";
import { type TaintLine, taintName } from "./toleration.ts";

/** What stands in the annotation, with instants in epoch milliseconds. */
type TaintSwap = NonNullable<ObservedNode["taintSwap"]>;

/** The two taints that take each other's place as the node's Ready status changes between False and Unknown (4.7). */
const OPPOSITES: readonly TaintId[] = [TaintKey.notReady, TaintKey.unreachable].map((key) => ({
  key,
  effect: TaintEffect.noExecute,
}));

/** The annotation that tells of a swap (Annotation.taintSwap). */
export function taintSwapText({ at, firstKey, firstAt }: TaintSwap): string {
  return JSON.stringify({ timeAdded: apiTime(at), first: { key: firstKey, since: apiMicroTime(firstAt) } });
}

/** Reads such an annotation; null when it makes no sense. */
export function readTaintSwap(text: string): TaintSwap | null {
  const { timeAdded, first } = recordOf(parsed(text));
  const { key, since } = recordOf(first);
  if (typeof timeAdded !== "string" || typeof since !== "string") return null;
  const [at, firstAt] = [epochMsOf(timeAdded), epochMsOf(since)];
  const isOurs = OPPOSITES.some((taint) => taint.key === key);
  return at === null || firstAt === null || !isOurs ? null : { at, firstKey: String(key), firstAt };
}

/**
 * The line that a taint on a node continues; null when it took no other's place. What is written down counts for the
 * taint with the stamp it names alone: one that somebody has put there since begins anew.
 */
export function lineOf(taint: Taint, { taintSwap }: Pick<ObservedNode, "taintSwap">): TaintLine | null {
  if (taintSwap === undefined || epochMsOf(taint.timeAdded) !== taintSwap.at) return null;
  if (!OPPOSITES.some((opposite) => taintName(opposite) === taintName(taint))) return null;
  const [first, second] = taintSwap.firstKey === TaintKey.notReady ? OPPOSITES : OPPOSITES.toReversed();
  return first === undefined || second === undefined ? null : { first, second, since: taintSwap.firstAt };
}
