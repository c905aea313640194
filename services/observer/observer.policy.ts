/** Decides which changes of a node are published, limits its taints, and splits its pods into messages. */
import { isDeepStrictEqual } from "node:util";
import { CONDITION_TAINT_KEYS, TaintEffect } from "../../protocols/names.ts";
import { type ObservedNode, type ObservedPod, TAINTS_MAX, type Taint } from "../../protocols/objects.ts";
import { PODS_CHUNKS_MAX } from "../../protocols/observed.ts";
import { taintName } from "../domain/toleration.ts";
import { isOlderVersion } from "../structures/resource-version.ts";

/** Room for pods in one message, in bytes; the frame and the node's name take the rest of the limit. */
export const CHUNK_BYTES_MAX = 60 * 1024;

const utf8 = new TextEncoder();

/** How a node has changed: not at all, in heartbeat times only, or in state that is published. */
export type NodeChange = "none" | "heartbeat" | "state";

/**
 * Compares two states of the same node. Only heartbeat times and a newer resourceVersion may change unpublished:
 * readers accept no version of the next observer that is older than the last one they received.
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
 * How long a renewal has waited to be read, at most `waitedMs`, in milliseconds. Its stamp shows that, if it is at most
 * twice as old: a renewal stamped just before the wait has waited all of it. Any other stamp is of a wrong clock, and
 * then the renewal counts from when it was read. Example: after a wait of 30 s a stamp of 12 s ago means 12 s, one of
 * 45 s ago means 30 s, and one of 70 s ago means none. `wallMs` is the present instant of the wall clock.
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

/** The longest taint that the API server accepts: a qualified name, a label value and an instant. */
const KEY_CHARACTERS_MAX = 253 + 1 + 63;
const VALUE_CHARACTERS_MAX = 63;
const TIME_CHARACTERS_MAX = 64;

/**
 * The node with at most TAINTS_MAX taints, in their order: a kubelet may register with any number of them. Taints with
 * our own keys are kept first, then other NoExecute taints, then the rest, on which nothing is decided. Returns the
 * same object if no taint is left out.
 */
export function boundedNode(node: ObservedNode): ObservedNode {
  const { taints, taintsSeenAt } = node;
  if (taints.length <= TAINTS_MAX && taints.every(isOrdinary)) return node;
  const byRank = taints.filter(isOrdinary).sort((left, right) => rankOf(left, node) - rankOf(right, node));
  const kept = new Set(byRank.slice(0, TAINTS_MAX));
  const names = new Set([...kept].map(taintName));
  const seen = Object.entries(taintsSeenAt ?? {}).filter(([name]) => names.has(name));
  return {
    ...node,
    taints: taints.filter((taint) => kept.has(taint)),
    taintsOmitted: taints.length - kept.size,
    ...(taintsSeenAt === undefined ? {} : { taintsSeenAt: Object.fromEntries(seen) }),
  };
}

function rankOf(taint: Taint, { conditionTaints = {} }: Pick<ObservedNode, "conditionTaints">): number {
  if (CONDITION_TAINT_KEYS.includes(taint.key) || Object.hasOwn(conditionTaints, taintName(taint))) return 0;
  return taint.effect === TaintEffect.noExecute ? 1 : 2;
}

function isOrdinary({ key, value = "", effect, timeAdded = "" }: Taint): boolean {
  return (
    key.length <= KEY_CHARACTERS_MAX &&
    value.length <= VALUE_CHARACTERS_MAX &&
    effect.length <= TaintEffect.preferNoSchedule.length &&
    timeAdded.length <= TIME_CHARACTERS_MAX
  );
}
