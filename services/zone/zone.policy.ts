/** How disrupted a zone is, how fast it may evict, and which of its nodes wait for a grant. Pure functions. */
import type { JudgedCondition, ZoneState } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { TaintEffect } from "../../protocols/names.ts";
import type { ConditionStatus, ObservedNode, Taint, TaintId } from "../../protocols/objects.ts";
import type { PolicySet } from "../../protocols/policy-set.ts";
import type { Profile } from "../../protocols/profile.ts";
import { API_TIME_STEP_MS } from "../domain/api-time.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { evictingTaintOf, taintIdOf, taintStartAt, taintsSeenOn } from "../domain/taint-swap.ts";
import { isSwappable } from "../domain/toleration.ts";
import { evictingConditionTaintsOf } from "../domain/unhealthy-conditions.ts";
import { partsOfDomain, zoneKeyOf } from "../domain/zone-key.ts";

/** How many nodes of a zone count for disruption, and how many of them are not ready. */
export interface ZoneCount {
  readonly size: number;
  readonly notReady: number;
}

/** How damaged a zone is by its count alone (R6.1); `empty` without a counted node. */
export type Damage = "empty" | "normal" | "partial" | "full";

/** A zone with fewer nodes not ready is not partially disrupted (R6.1, R6.4). */
const PARTIAL_NOT_READY_MIN = 3;

/** Whether a counted node counts as not ready: its Ready condition is missing or not True (R6.1). */
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

/** The damage that an announced state means; null when its owner does not know it either. */
export function damageOfState(state: ZoneState): Damage | null {
  if (state === "PartialDisruption") return "partial";
  if (state === "Normal") return "normal";
  return state === "FullDisruption" ? "full" : null;
}

/**
 * Tokens per second of a zone (R6.4, R6.5, R6.10), as float32 like upstream (R7.8). A large, partially disrupted zone
 * has the secondary rate, a small one none, and a halted one none. Any other zone has the primary rate, unless a policy
 * sets one for full disruption. Example with upstream's defaults (0.1/s, 0.01/s, 50 nodes): with 60 % of its nodes
 * down, a zone of 51 nodes has one grant in 100 s, and a zone of 50 nodes has none.
 */
export function taintsPerSecondOf(state: ZoneState | "Halted", size: number, profile: ZoneProfile): number {
  if (state === "Halted") return 0;
  if (state === "FullDisruption") {
    return Math.fround(profile.fullDisruptionEvictionsPerSecond ?? profile.nodeEvictionsPerSecond);
  }
  if (state !== "PartialDisruption") return Math.fround(profile.nodeEvictionsPerSecond);
  return size > profile.largeClusterSizeThreshold ? Math.fround(profile.secondaryNodeEvictionsPerSecond) : 0;
}

/** The rates and the threshold of one disruption domain. */
export interface ZoneProfile
  extends Pick<
    Profile,
    | "nodeEvictionsPerSecond"
    | "secondaryNodeEvictionsPerSecond"
    | "unhealthyZoneThreshold"
    | "largeClusterSizeThreshold"
  > {
  /** The rate in full disruption; null for upstream's, which is the primary one. */
  readonly fullDisruptionEvictionsPerSecond?: number | null;
}

/** The rates and the threshold of a domain: each that its policy sets, and the profile's for the rest. */
export function zoneProfileOf(profile: Profile, domainKey: string, policies: PolicySet | null): ZoneProfile {
  const { policy: name } = partsOfDomain(domainKey);
  const policy = name === null ? undefined : policies?.policies.find((each) => each.name === name);
  return {
    nodeEvictionsPerSecond: policy?.nodeEvictionsPerSecond ?? profile.nodeEvictionsPerSecond,
    secondaryNodeEvictionsPerSecond: policy?.secondaryNodeEvictionsPerSecond ?? profile.secondaryNodeEvictionsPerSecond,
    fullDisruptionEvictionsPerSecond: policy?.fullDisruptionEvictionsPerSecond ?? null,
    unhealthyZoneThreshold: policy?.unhealthyZoneThreshold ?? profile.unhealthyZoneThreshold,
    largeClusterSizeThreshold: profile.largeClusterSizeThreshold,
  };
}

/** What all zones together show: every zone is down, some zone is not, or too little is known. */
export type AllZonesState = "healthy" | "notKnown" | "disrupted";

/**
 * Folds the zones that have counted nodes (R6.7); null is an unknown zone. An unknown zone can stop grants, but taints
 * are removed only when every zone is known to be down. Without any zone nothing is disrupted.
 */
export function allZonesStateOf(damages: Iterable<Damage | null>): AllZonesState {
  let state: AllZonesState = "healthy";
  for (const damage of damages) {
    if (damage === "normal" || damage === "partial") return "healthy";
    if (damage === null) state = "notKnown";
    else if (damage === "full" && state === "healthy") state = "disrupted";
  }
  return state;
}

/** A node's NoExecute taints of ours: those of its readiness (R4.41), and those added for conditions of its policy. */
export function ownTaintsOf(node: Pick<ObservedNode, "taints" | "conditionTaints">): Taint[] {
  return [...node.taints.filter(isSwappable), ...evictingConditionTaintsOf(node)];
}

/**
 * Whether one of our taints landed on a node, so its zone spent a token in some process. The opposite taint replaces
 * that of its readiness without a token.
 */
export function isNewlyTainted(before: ObservedNode | null, after: ObservedNode): boolean {
  if (before === null || before.uid !== after.uid) return false;
  const known = evictingConditionTaintsOf(before);
  const isReadinessNew = !before.taints.some(isSwappable) && after.taints.some(isSwappable);
  return (
    isReadinessNew || evictingConditionTaintsOf(after).some((taint) => !known.some((one) => one.key === taint.key))
  );
}

/** Whether a node neither needs nor carries a NoExecute taint of its readiness, so its grant would write nothing. */
export function needsNoTaint(node: ObservedNode): boolean {
  return evictingTaintOf(readyOf(node)) === null && !node.taints.some(isSwappable);
}

/** The condition whose NoExecute taint a node waits for, as judged; null for none. */
export function dueConditionOf({ observed, judged }: NodeInZone): JudgedCondition | null {
  const due = judged.conditions?.find(
    ({ state, taint }) => state === "due" && taint.effect === TaintEffect.noExecute && !carries(observed.taints, taint),
  );
  return due ?? null;
}

function carries(taints: readonly Taint[], { key, effect }: TaintId): boolean {
  return taints.some((taint) => taint.key === key && taint.effect === effect);
}

/** The observation and the judgement of one node. */
export interface NodeInZone {
  readonly observed: ObservedNode;
  readonly judged: BodyOf<"judged.node">;
}

/**
 * Whether a node waits for a grant: its eviction is due and, in taint mode, the API shows it as not ready, or a
 * condition requires a NoExecute taint. A node whose new status is not written yet waits once it is (R4.37). A node
 * that has moved waits in its new zone, at that rate.
 */
export function waitsForGrant(node: NodeInZone, evictionMode: Profile["evictionMode"]): boolean {
  const { observed, judged } = node;
  if (partsOfDomain(judged.zone).zone !== zoneKeyOf(observed.labels)) return false;
  if (evictionMode !== "taint") return judged.eviction === "toBeEvicted";
  return waitsForReadiness(node) || dueConditionOf(node) !== null;
}

/** A policy may delay a node that has just begun to report Ready=False, so its judgement has to be of that status. */
function waitsForReadiness({ observed, judged }: NodeInZone): boolean {
  if (judged.policy !== undefined && judged.ready !== readyOf(observed)) return false;
  return judged.eviction === "toBeEvicted" && evictingTaintOf(readyOf(observed)) !== null;
}

/** The order in which a new owner queues nodes: the longest not ready first, then by name. */
export function byWaitingTime(left: NodeInZone, right: NodeInZone): number {
  const [leftAt, rightAt] = [left, right].map((node) => waitingConditionAt(node) ?? node.judged.since);
  return Number(leftAt) - Number(rightAt) || (left.judged.node < right.judged.node ? -1 : 1);
}

/** Since when a node that waits for nothing else has had the condition that it is to be tainted for. */
function waitingConditionAt(node: NodeInZone): number | null {
  return waitsForReadiness(node) ? null : (dueConditionOf(node)?.since ?? null);
}

/**
 * The order in which limits permit nodes: the longest not ready first, as the API server shows it. Owners that cannot
 * hear each other, because the bus is split, permit the same nodes by it.
 */
export function byTransition(left: NodeInZone, right: NodeInZone): number {
  const [leftAt, rightAt] = [left, right].map(
    (node) => waitingConditionAt(node) ?? readyConditionOf(node.observed)?.transitionAt ?? Infinity,
  );
  if (leftAt !== rightAt) return Number(leftAt) - Number(rightAt);
  return left.judged.node < right.judged.node ? -1 : 1;
}

/** The request that a grant leads to in taint mode; null when the node needs no taint any more. */
export function grantRequest(node: NodeInZone): BodyOf<"asked.taint"> | null {
  const { observed } = node;
  const ready = readyOf(observed);
  const readinessTaint = evictingTaintOf(ready);
  const dueCondition = dueConditionOf(node);
  if (dueCondition === null || (readinessTaint !== null && !carries(observed.taints, readinessTaint))) {
    return taintRequest(observed);
  }
  return { ...basisOf(observed, ready), add: [dueCondition.taint], remove: [], why: "granted" };
}

/** Whether a grant would add a taint for a condition of the node's policy. */
export function isForCondition(node: NodeInZone): boolean {
  return grantRequest(node)?.add.some((taint) => !isSwappable(taint)) === true;
}

/** The request for the NoExecute taint of a node's readiness; null when it has become ready. */
export function taintRequest(node: ObservedNode): BodyOf<"asked.taint"> | null {
  const ready = readyOf(node);
  const taint = evictingTaintOf(ready);
  if (taint === null) return null;
  const opposite = node.taints.filter((each) => isSwappable(each) && each.key !== taint.key);
  return { ...basisOf(node, ready), add: [taint], remove: opposite.map(taintIdOf), why: "granted" };
}

/** The request to remove our NoExecute taints from a node (R6.10); null when it carries none. */
export function taintRemovalRequest(node: ObservedNode): BodyOf<"asked.taint"> | null {
  const own = ownTaintsOf(node);
  if (own.length === 0) return null;
  return { ...basisOf(node, readyOf(node)), add: [], remove: own.map(taintIdOf), why: "healing" };
}

function readyOf(node: ObservedNode): ConditionStatus | null {
  return readyConditionOf(node)?.status ?? null;
}

/**
 * The latest instant at which these nodes can have got one of our NoExecute taints, in epoch milliseconds; null if none
 * carries one. The next owner of a zone estimates its bucket from it.
 */
export function newestTaintAt(nodes: Iterable<ObservedNode>): number | null {
  let newest: number | null = null;
  for (const node of nodes) {
    const addedAt = newestStampAt(ownTaintsOf(node), node);
    if (addedAt !== null) newest = Math.max(newest ?? 0, addedAt);
  }
  return newest;
}

/** The latest instant at which a node can have got one of these taints, in epoch milliseconds; null without a stamp. */
export function newestStampAt(taints: readonly Taint[], node: ObservedNode): number | null {
  const stamps = taints.flatMap((taint) => taintStartAt(taint, node) ?? []);
  return stamps.length === 0 ? null : Math.max(...stamps) + API_TIME_STEP_MS;
}

function basisOf(node: ObservedNode, ready: ConditionStatus | null) {
  return { node: node.node, uid: node.uid, resourceVersion: node.resourceVersion, ...taintsSeenOn(node), ready };
}
