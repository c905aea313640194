/** Decides how disrupted a zone is, how fast it may evict, and which nodes wait for a turn. It holds no state. */
import type { ZoneState } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { ConditionStatus, ObservedNode, Taint, TaintId } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { evictingTaintOf, taintStartAt, taintsSeenOn } from "../domain/taint-swap.ts";
import { isCounted, zoneKeyOf } from "../domain/zone-key.ts";

/** The settings that decide a zone's pace; the rates are read as float32, as upstream holds them (R7.8). */
type RateSettings = Pick<
  Profile,
  "nodeEvictionsPerSecond" | "secondaryNodeEvictionsPerSecond" | "largeClusterSizeThreshold"
>;

/** How many nodes of a zone take part in disruption checks, and how many of them are not ready. */
export interface ZoneCount {
  readonly size: number;
  readonly notReady: number;
}

/** How bad a zone looks by its count alone (R6.1); `empty` when it has no counted node. */
export type Damage = "empty" | "normal" | "partial" | "full";

/** Fewer not ready nodes than this never disrupt a zone partially (R6.1, R6.4). */
const PARTIAL_NOT_READY_MIN = 3;

/** Whether a counted node counts as not ready: everything but a Ready condition that is True (R6.1). */
export function isNotReady(ready: ConditionStatus | null): boolean {
  return ready !== "True";
}

/** The damage of a zone. Both sides of the comparison are float32 (R6.2): 11 of 20 reaches a threshold of 0.55. */
export function damageOf({ size, notReady }: ZoneCount, unhealthyZoneThreshold: number): Damage {
  if (size === 0) return "empty";
  if (notReady === size) return "full";
  const share = Math.fround(Math.fround(notReady) / Math.fround(size));
  return notReady >= PARTIAL_NOT_READY_MIN && share >= Math.fround(unhealthyZoneThreshold) ? "partial" : "normal";
}

/** The damage that an announced state stands for; null for a zone whose owner does not know it either. */
export function damageOfState(state: ZoneState): Damage | null {
  if (state === "Normal") return "normal";
  if (state === "PartialDisruption") return "partial";
  return state === "FullDisruption" ? "full" : null;
}

/**
 * Tokens per second of a zone, as float32 (R6.4, R6.5, R6.10): the secondary rate in a large, partially disrupted zone,
 * none in a small one or a halted one, the ordinary rate otherwise, also in a zone that is wholly down.
 */
export function taintsPerSecondOf(state: ZoneState | "Halted", size: number, settings: RateSettings): number {
  if (state === "Halted") return 0;
  if (state !== "PartialDisruption") return Math.fround(settings.nodeEvictionsPerSecond);
  return size > settings.largeClusterSizeThreshold ? Math.fround(settings.secondaryNodeEvictionsPerSecond) : 0;
}

/** What the zones together say: all are fully disrupted, some are not, or it cannot be told. */
export type AllZonesState = "spared" | "unclear" | "disrupted";

/**
 * Folds the zones that have counted nodes (R6.7); null is a zone of which nothing is known. An unknown zone counts as
 * disrupted as far as granting goes, but taints are only taken back when every zone is known to be down: a doubt stops
 * us and undoes nothing. With no zone at all nothing is disrupted.
 */
export function allZonesStateOf(damages: Iterable<Damage | null>): AllZonesState {
  let counted = 0;
  let unknown = 0;
  for (const damage of damages) {
    if (damage === "normal" || damage === "partial") return "spared";
    if (damage === null) unknown++;
    if (damage === "full") counted++;
  }
  if (unknown > 0) return "unclear";
  return counted > 0 ? "disrupted" : "spared";
}

/** Our own NoExecute taints among a node's taints: the only ones a zone adds or takes away (R4.41). */
export function ownTaintsOf(taints: readonly Taint[]): Taint[] {
  return taints.filter(
    ({ key, effect }) =>
      effect === TaintEffect.noExecute && (key === TaintKey.notReady || key === TaintKey.unreachable),
  );
}

/** Whether one of our taints has landed on a node that had none: its zone spent a token, whoever granted it. */
export function isNewlyTainted(before: ObservedNode | null, after: ObservedNode): boolean {
  if (before === null || before.uid !== after.uid) return false;
  return ownTaintsOf(before.taints).length === 0 && ownTaintsOf(after.taints).length > 0;
}

/** Whether a node is to carry no NoExecute taint of ours and carries none: a turn of it would write nothing. */
export function needsNoTaint(node: ObservedNode): boolean {
  return evictingTaintOf(readyOf(node)) === null && ownTaintsOf(node.taints).length === 0;
}

/** What is observed and judged of one node. */
export interface NodeInZone {
  readonly observed: ObservedNode;
  readonly judged: BodyOf<"judged.node">;
  /** Whether it is judged Unknown by a verdict that shadow mode rehearsed, so that the API will not show it. */
  readonly isShadowed?: boolean;
}

/**
 * Whether a node waits for a turn: its eviction is due, and in taint mode the API shows it as not ready, so that there
 * is a taint to put on it. A node whose new status has not been written yet waits as soon as it has (R4.37), and one
 * that has moved waits in its new zone: the pace of the old one is not its own.
 */
export function waitsForGrant({ observed, judged }: NodeInZone, evictionMode: Profile["evictionMode"]): boolean {
  if (judged.eviction !== "toBeEvicted" || judged.zone !== zoneKeyOf(observed.labels)) return false;
  return evictionMode !== "taint" || evictingTaintOf(readyOf(observed)) !== null;
}

/** The order in which nodes that have waited unseen are let into a queue: the longest ill first, then by name. */
export function byWaitingTime(left: NodeInZone, right: NodeInZone): number {
  return left.judged.since - right.judged.since || (left.judged.node < right.judged.node ? -1 : 1);
}

/**
 * Whether what is judged of a node and what the API shows contradict each other: for a moment while a write is under
 * way, for long only when a message was lost, or when shadow mode keeps the verdict from the API. In taint mode a node
 * is evicted when it carries our taint, and only then.
 */
export function contradicts(
  { observed, judged, isShadowed }: NodeInZone,
  evictionMode: Profile["evictionMode"],
): boolean {
  return (
    judged.uid !== observed.uid ||
    (judged.ready !== readyOf(observed) && isShadowed !== true) ||
    judged.zone !== zoneKeyOf(observed.labels) ||
    judged.counted !== isCounted(observed.labels) ||
    (evictionMode === "taint" && (judged.eviction === "evicted") !== ownTaintsOf(observed.taints).length > 0)
  );
}

/** The ask that follows from a node's turn in taint mode; null when the node turned out ready. */
export function taintRequest(node: ObservedNode): BodyOf<"asked.taint"> | null {
  const ready = readyOf(node);
  const wanted = evictingTaintOf(ready);
  if (wanted === null) return null;
  const opposite = ownTaintsOf(node.taints).filter(({ key }) => key !== wanted.key);
  return { ...basisOf(node, ready), add: [wanted], remove: opposite.map(idOf), why: "granted" };
}

/** The ask that takes our NoExecute taints off a node (R6.10); null when it carries none. */
export function taintRemovalRequest(node: ObservedNode): BodyOf<"asked.taint"> | null {
  const own = ownTaintsOf(node.taints);
  if (own.length === 0) return null;
  return { ...basisOf(node, readyOf(node)), add: [], remove: own.map(idOf), why: "healing" };
}

/** The status of a node's Ready condition as the API shows it; null when it has none. */
function readyOf(node: ObservedNode): ConditionStatus | null {
  return readyConditionOf(node)?.status ?? null;
}

/** API stamps are cut to whole seconds: a taint may have been added this many milliseconds later than it says. */
const STAMP_RESOLUTION_MS = 1000;

/**
 * The latest instant at which one of our NoExecute taints can have been put on these nodes, in epoch milliseconds; null
 * when none carries one. From it a zone that was taken over knows what is left of its pace.
 */
export function newestTaintAt(nodes: Iterable<ObservedNode>): number | null {
  let newest: number | null = null;
  for (const node of nodes) {
    for (const taint of ownTaintsOf(node.taints)) {
      const addedAt = taintStartAt(taint, node);
      if (addedAt !== null) newest = Math.max(newest ?? 0, addedAt + STAMP_RESOLUTION_MS);
    }
  }
  return newest;
}

function basisOf(node: ObservedNode, ready: ConditionStatus | null) {
  return { node: node.node, uid: node.uid, resourceVersion: node.resourceVersion, ...taintsSeenOn(node), ready };
}

function idOf({ key, effect }: Taint): TaintId {
  return { key, effect };
}
