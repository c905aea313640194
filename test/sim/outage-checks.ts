/**
 * No pod of a live node is deleted. Before a deletion by a node-health taint, the API server accepted heartbeats for a
 * full grace in which the node sent none. No deletion by `unreachable` happens while the API server shows that the
 * node's lease was just renewed. Both follow from what the API server accepted (heard.ts).
 */
import { CLOCK_ERROR_MS } from "./fault-bounds.ts";
import { APART_SECONDS } from "./faults/apart-servers.ts";
import { leastMs } from "./graces.ts";
import type { Heard } from "./heard.ts";
import {
  BrokenInvariant,
  type CheckedNode,
  type CheckedPod,
  conditionOf,
  earliestDueAt,
  isPaced,
  type WriteContext,
} from "./invariants.ts";

/** The API stamps a creation in whole seconds. */
const STAMP_MS = 1_000;

/** What a deletion is checked against. */
interface DeletionContext extends WriteContext {
  /** How long before the deletion its last read may have been, in milliseconds. */
  readonly readAgeMs: number;
}

/** Checks a deletion of Vigil against the heartbeats that the API server accepted. */
export function checkHeard(pod: CheckedPod, node: CheckedNode, heard: Heard, context: DeletionContext): void {
  if (isDueByOthers(pod, node, context)) return;
  checkLease(pod, node, heard, context);
  checkGrace(pod, node, heard, context);
}

/**
 * Whether a taint that is not about the node's health may have caused the deletion. A pod with a stamp that is ahead
 * counts from when it was shown (seed 975672370).
 */
function isDueByOthers(pod: CheckedPod, node: CheckedNode, { swarm, wallMs, skewMs, standing }: WriteContext): boolean {
  if (swarm.profile.evictionMode === "direct") return false;
  const aheadMs = swarm.faults.has("apartServers") ? APART_SECONDS[1] * 1000 : 0;
  const others = (node.spec?.taints ?? []).filter((taint) => taint.effect === "NoExecute" && !isPaced(taint));
  return others.some((taint) => {
    return wallMs + skewMs + aheadMs >= earliestDueAt(pod, taint, standing(node.metadata.name, taint));
  });
}

function isUnreachable(node: CheckedNode, { swarm }: WriteContext): boolean {
  if (swarm.profile.evictionMode === "direct") return conditionOf(node, "Ready")?.status === "Unknown";
  return node.spec?.taints?.some((taint) => isPaced(taint) && taint.key.endsWith("unreachable")) === true;
}

/** The shortest grace that a node may have had since an instant. */
function graceSince({ metadata }: CheckedNode, fromMs: number, { graces }: DeletionContext): number {
  return leastMs(graces(metadata.name, fromMs), "monitorMs");
}

/**
 * When a node was found silent, or the deletion was decided, whichever was earlier. A correct verdict remains valid
 * when its policy gets a longer grace afterwards (seed 950000000). Example: a node with a grace of 40 s is found silent
 * after 40 s; its policy then says 90 s; the verdict is not withdrawn.
 */
function foundSilentAt(node: CheckedNode, { wallMs, readAgeMs }: DeletionContext): number {
  const foundAt = Date.parse(conditionOf(node, "Ready")?.lastTransitionTime ?? "");
  return Math.min(wallMs - readAgeMs, Number.isNaN(foundAt) ? Number.POSITIVE_INFINITY : foundAt);
}

function checkLease(pod: CheckedPod, node: CheckedNode, heard: Heard, context: DeletionContext): void {
  const { wallMs, readAgeMs } = context;
  if (!isUnreachable(node, context)) return;
  const graceMs = graceSince(node, foundSilentAt(node, context), context);
  const fresh = [wallMs - graceMs + CLOCK_ERROR_MS, wallMs - readAgeMs] as const;
  if (!heard.isRenewedWithin(node.metadata.name, fresh)) return;
  const ready = conditionOf(node, "Ready")?.status ?? "missing";
  throw new BrokenInvariant(
    `${pod.metadata.name} was deleted as unreachable while ${node.metadata.name} renews its lease (Ready is ${ready})`,
  );
}

/**
 * Whether a node was there before an instant. One that registers after an outage has been heard since, and none of its
 * countdowns met the outage: what its kubelet says of itself counts at once (seeds 904065555 and 904065893).
 */
function isOlder({ metadata: { creationTimestamp = "" } }: CheckedNode, at: number): boolean {
  const createdAt = Date.parse(creationTimestamp);
  return Number.isNaN(createdAt) || createdAt + STAMP_MS <= at;
}

function checkGrace(pod: CheckedPod, node: CheckedNode, heard: Heard, context: DeletionContext): void {
  const { wallMs, skewMs, readAgeMs } = context;
  const outages = heard.pauses(wallMs - readAgeMs).least.filter(([, toAt]) => isOlder(node, toAt));
  const endedAt = Math.max(...outages.map(([, toAt]) => toAt));
  const graceMs = graceSince(node, wallMs - readAgeMs, context);
  const leftMs = endedAt + graceMs - wallMs - skewMs;
  if (leftMs <= 0) return;
  const when = endedAt > wallMs ? "during an outage" : `${Math.round(wallMs - endedAt)} ms after an outage`;
  throw new BrokenInvariant(
    `${pod.metadata.name} was deleted ${when}; ${node.metadata.name} has a grace of ${graceMs} ms to be heard`,
  );
}
