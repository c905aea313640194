/** Decides which changes of a node are published, and splits its pods into messages. */
import type {
  Condition,
  ConditionHold,
  ConditionSighting,
  ObservedNode,
  ObservedPod,
  Taint,
} from "../../protocols/objects.ts";
import { PODS_CHUNKS_MAX } from "../../protocols/observed.ts";

/** Room for pods in one message, in bytes; the frame and the node's name take the rest of the limit. */
export const CHUNK_BYTES_MAX = 60 * 1024;

const utf8 = new TextEncoder();

/** How a node has changed: not at all, in heartbeat times only, or in state that is published. */
export type NodeChange = "none" | "heartbeat" | "state";

const sameScalars = sameFields<ObservedNode>(
  "uid",
  "createdAt",
  "unschedulable",
  "taintsSeenStale",
  "taintsOmitted",
  "policyLabels",
  "outOfServiceAt",
);
const sameTaint = sameFields<Taint>("key", "effect", "value", "timeAdded");
const sameCondition = sameFields<Condition>("type", "status", "reason", "transitionAt");
const sameSighting = sameFields<ConditionSighting>("type", "status", "since", "transitionAt");
const sameHold = sameFields<ConditionHold>("type", "fromAt", "toAt");
const sameHeartbeat = sameFields<Condition>("heartbeatAt");

/** Compares two states of the same node. Only heartbeat times and the resourceVersion may change unpublished. */
export function nodeChange(before: ObservedNode, after: ObservedNode): NodeChange {
  const isSame =
    sameScalars(before, after) &&
    sameRecords(before.labels, after.labels) &&
    sameRecords(before.taintsSeenAt ?? {}, after.taintsSeenAt ?? {}) &&
    sameRecords<string | number>(before.taintSwap ?? {}, after.taintSwap ?? {}) &&
    sameRecords<string | number>(before.provedDown ?? {}, after.provedDown ?? {}) &&
    before.readyTransitionsAt?.join() === after.readyTransitionsAt?.join() &&
    sameLists(before.conditionSightings ?? [], after.conditionSightings ?? [], sameSighting) &&
    sameLists(before.holds ?? [], after.holds ?? [], sameHold) &&
    sameRecords(before.conditionTaints ?? {}, after.conditionTaints ?? {}) &&
    JSON.stringify(before.shadow) === JSON.stringify(after.shadow) &&
    sameLists(before.taints, after.taints, sameTaint) &&
    sameLists(before.conditions, after.conditions, sameCondition);
  if (!isSame) return "state";
  return sameLists(before.conditions, after.conditions, sameHeartbeat) ? "none" : "heartbeat";
}

/**
 * How long a renewal has waited to be read, of the `waitedMs` that it may have, in milliseconds. Its stamp says so where
 * that fits: one from just before the wait has waited all of it. Any other stamp is of a clock that is wrong: then the
 * renewal counts from when it was read. `wallMs` is the present instant of the wall clock.
 */
export function waitedOf(renewedAt: number | null, wallMs: number, waitedMs: number): number {
  const ageMs = renewedAt === null ? -1 : wallMs - renewedAt;
  return ageMs < 0 || ageMs > 2 * waitedMs ? 0 : Math.min(ageMs, waitedMs);
}

/** A node's pods in chunks that fit into messages. */
export interface PodChunks {
  /** At least one, each of at most CHUNK_BYTES_MAX. */
  readonly chunks: readonly (readonly ObservedPod[])[];
  /** Pods too large for any chunk, and those beyond PODS_CHUNKS_MAX chunks. */
  readonly omitted: readonly ObservedPod[];
}

/** Splits the pods of a node into messages that fit the bus, and names those too large for any. */
export function podChunks(pods: readonly ObservedPod[]): PodChunks {
  const chunks: ObservedPod[][] = [[]];
  const omitted: ObservedPod[] = [];
  let bytes = 0;
  for (const whole of pods) {
    const pod = bytesOf(whole) < CHUNK_BYTES_MAX ? whole : compactPod(whole);
    const podBytes = bytesOf(pod) + 1;
    const isFull = bytes + podBytes > CHUNK_BYTES_MAX;
    if (podBytes > CHUNK_BYTES_MAX || (isFull && chunks.length === PODS_CHUNKS_MAX)) {
      omitted.push(whole);
      continue;
    }
    if (isFull) {
      chunks.push([]);
      bytes = 0;
    }
    chunks.at(-1)?.push(pod);
    bytes += podBytes;
  }
  return { chunks, omitted };
}

/** The pod in fewer bytes: a toleration without effect matches NoExecute taints too, and only these evict. */
function compactPod(pod: ObservedPod): ObservedPod {
  const tolerations = pod.tolerations.map((toleration) => {
    const { effect: _, ...anyEffect } = toleration;
    return anyEffect;
  });
  return { ...pod, tolerations };
}

function bytesOf(value: unknown): number {
  return utf8.encode(JSON.stringify(value)).length;
}

function sameLists<T>(left: readonly T[], right: readonly T[], same: (left: T, right: T) => boolean): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  return left.every((item, index) => {
    const other = right[index];
    return other !== undefined && same(item, other);
  });
}

function sameRecords<T>(left: Readonly<Record<string, T>>, right: Readonly<Record<string, T>>): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

function sameFields<T>(...names: readonly (keyof T)[]): (left: T, right: T) => boolean {
  return (left, right) => names.every((name) => left[name] === right[name]);
}
