/** Decides which changes of a node are published, and splits its pods into messages. */
import { isDeepStrictEqual } from "node:util";
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { PODS_CHUNKS_MAX } from "../../protocols/observed.ts";
import { isOlderVersion } from "../structures/resource-version.ts";

/** Room for pods in one message, in bytes; the frame and the node's name take the rest of the limit. */
export const CHUNK_BYTES_MAX = 60 * 1024;

const utf8 = new TextEncoder();

/** How a node has changed: not at all, in heartbeat times only, or in state that is published. */
export type NodeChange = "none" | "heartbeat" | "state";

/**
 * Compares two states of the same node. Only heartbeat times and a newer resourceVersion may change unpublished: of the
 * next observer readers would take no version that is older than the one they hold.
 */
export function nodeChange(before: ObservedNode, after: ObservedNode): NodeChange {
  if (isOlderVersion(after.resourceVersion, before.resourceVersion)) return "state";
  if (!isDeepStrictEqual(stateOf(before), stateOf(after))) return "state";
  return isDeepStrictEqual(before.conditions, after.conditions) ? "none" : "heartbeat";
}

/** What is published of a node when it changes: every field, also one that the schema gets later, except those two. */
function stateOf({ resourceVersion: _version, conditions, ...state }: ObservedNode): object {
  return { ...state, conditions: conditions.map(({ heartbeatAt: _at, ...condition }) => condition) };
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
