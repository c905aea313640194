/** What of an observation is worth telling, and in which pieces. It keeps nothing and sends nothing. */
import type { Condition, ObservedNode, ObservedPod, Taint } from "../../protocols/objects.ts";
import { PODS_CHUNKS_MAX } from "../../protocols/observed.ts";

/** Room for pods in one message, in bytes; the rest of the limit is for the frame and the node's name. */
export const CHUNK_BYTES_MAX = 60 * 1024;

const utf8 = new TextEncoder();

/** How a node differs from what was known of it: not at all, only in heartbeat times, or in something to be told. */
export type NodeChange = "none" | "heartbeat" | "state";

/** Compares two states of the same node. Only heartbeat times and the resourceVersion may differ without being told. */
export function nodeChange(before: ObservedNode, after: ObservedNode): NodeChange {
  if (
    before.uid !== after.uid ||
    before.createdAt !== after.createdAt ||
    before.unschedulable !== after.unschedulable ||
    !sameRecords(before.labels, after.labels) ||
    !sameRecords(before.taintsSeenAt ?? {}, after.taintsSeenAt ?? {}) ||
    before.taintsSeenStale !== after.taintsSeenStale ||
    before.taintsOmitted !== after.taintsOmitted ||
    !sameRecords<string | number>(before.taintSwap ?? {}, after.taintSwap ?? {}) ||
    !sameLists(before.taints, after.taints, sameTaint) ||
    !sameLists(before.conditions, after.conditions, sameCondition)
  ) {
    return "state";
  }
  return sameLists(before.conditions, after.conditions, sameHeartbeat) ? "none" : "heartbeat";
}

/** A node's pods in pieces that fit into messages. */
export interface PodChunks {
  /** At least one, each of at most CHUNK_BYTES_MAX. */
  readonly chunks: readonly (readonly ObservedPod[])[];
  /** The pods that fit into none, or would take more than PODS_CHUNKS_MAX of them. */
  readonly omitted: readonly ObservedPod[];
}

/** Splits a node's pods into chunks. */
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

/** The same pod in fewer bytes: a toleration of no effect matches NoExecute taints too, and only these evict. */
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

function sameTaint(left: Taint, right: Taint): boolean {
  return (
    left.key === right.key &&
    left.effect === right.effect &&
    left.value === right.value &&
    left.timeAdded === right.timeAdded
  );
}

function sameCondition(left: Condition, right: Condition): boolean {
  return (
    left.type === right.type &&
    left.status === right.status &&
    left.reason === right.reason &&
    left.transitionAt === right.transitionAt
  );
}

function sameHeartbeat(left: Condition, right: Condition): boolean {
  return left.heartbeatAt === right.heartbeatAt;
}
