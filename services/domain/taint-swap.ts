/**
 * When a node's NoExecute taints began to count, as the API server shows it, and the annotation that records how
 * `not-ready` and `unreachable` replaced each other. It decides no eviction.
 */
import { TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ConditionStatus, ObservedNode, Taint, TaintId, TaintSwap } from "../../protocols/objects.ts";
import { parsed, recordOf } from "../structures/json.ts";
import { apiMicroTime, apiTime, epochMsOf } from "./api-time.ts";
import { isSwappable, type TaintLineage, taintName } from "./toleration.ts";

type TaintStartRecords = Pick<ObservedNode, "taintsSeenAt" | "taintSwap">;

/** The two taints that replace each other when the node's Ready status changes between False and Unknown (R8.18). */
const OPPOSITES: readonly TaintId[] = [TaintKey.notReady, TaintKey.unreachable].map((key) => ({
  key,
  effect: TaintEffect.noExecute,
}));

/** Identifies a taint: its key and effect. */
export function taintIdOf({ key, effect }: TaintId): TaintId {
  return { key, effect };
}

/** The NoExecute taint that a Ready status maps to (R4.36); null when the node is ready or has no Ready condition. */
export function evictingTaintOf(ready: ConditionStatus | null): TaintId | null {
  if (ready === "False") return { key: TaintKey.notReady, effect: TaintEffect.noExecute };
  if (ready === "Unknown") return { key: TaintKey.unreachable, effect: TaintEffect.noExecute };
  return null;
}

/** The present taints of a node, as a request about its taints carries them. */
export function taintsSeenOn(
  node: ObservedNode,
): Pick<ObservedNode, "taints" | "taintsOmitted" | "taintSwap" | "taintsSeenAt"> {
  const { taints, taintsOmitted, taintSwap } = node;
  const ours = new Set(OPPOSITES.map(taintName));
  const seen = Object.entries(node.taintsSeenAt ?? {}).filter(([name]) => ours.has(name));
  return {
    taints,
    ...(taintsOmitted === undefined ? {} : { taintsOmitted }),
    ...(taintSwap === undefined ? {} : { taintSwap }),
    ...(seen.length === 0 ? {} : { taintsSeenAt: Object.fromEntries(seen) }),
  };
}

/**
 * When a taint began to count, in epoch milliseconds: from Annotation.taintsSeen, else from its `timeAdded`; null when
 * both are missing.
 */
export function taintStartAt(taint: Taint, { taintsSeenAt }: Pick<ObservedNode, "taintsSeenAt">): number | null {
  return taintsSeenAt?.[taintName(taint)] ?? epochMsOf(taint.timeAdded);
}

/**
 * The record to write when a taint replaces `replaced` at `at`, in epoch milliseconds; null when it is unknown since
 * when `replaced` counted. Example: `not-ready` counts from 12:00:00, `unreachable` replaces it at 12:00:40, and
 * `not-ready` comes back at 12:02:00. The last record names 12:02:00, `not-ready` as the first since 12:00:00, and the
 * second since 12:00:40.
 */
export function taintSwapOf(replaced: Taint, node: TaintStartRecords, at: number): TaintSwap | null {
  const startAt = taintStartAt(replaced, node);
  const lineage = lineageOf(replaced, startAt, node);
  const firstAt = lineage?.since ?? startAt;
  if (firstAt === null) return null;
  const stampAt = epochMsOf(apiTime(at)) ?? at;
  return {
    at: stampAt,
    firstKey: lineage?.first.key ?? replaced.key,
    firstAt,
    secondAt: lineage?.secondSince ?? stampAt,
  };
}

/** The value of Annotation.taintSwap. */
export function taintSwapText({ at, firstKey, firstAt, secondAt }: TaintSwap): string {
  const [first, second] = [firstAt, secondAt].map(apiMicroTime);
  return JSON.stringify({ timeAdded: apiTime(at), first: { key: firstKey, since: first }, second: { since: second } });
}

/** Reads that value; null when it is malformed. */
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
 * The lineage that a taint continues, which counts from `startAt`; null when it replaced none. The record applies only
 * to the taint with the stamp it names, also if that stamp was changed later. A taint added later starts its own
 * countdown.
 */
export function lineageOf(taint: Taint, startAt: number | null, { taintSwap }: TaintStartRecords): TaintLineage | null {
  if (taintSwap === undefined || startAt === null || !isSwappable(taint)) return null;
  const { at, firstKey, firstAt, secondAt } = taintSwap;
  if (epochMsOf(taint.timeAdded) !== at && startAt !== at) return null;
  const [first, second] = firstKey === TaintKey.notReady ? OPPOSITES : OPPOSITES.toReversed();
  if (first === undefined || second === undefined) return null;
  // After one swap this taint is the second one. The writer's stamp of it may be wrong, so it counts from its start.
  return { first, second, since: firstAt, secondSince: secondAt === at ? startAt : secondAt };
}
