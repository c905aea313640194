/** Decides from the instants of heartbeats when no node could be heard. It reads no clock. */
import type { ObservedNode } from "../../protocols/objects.ts";
import { OUTAGES_MAX } from "../../protocols/observed.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import type { LeaseRenewal } from "../../protocols/ports.ts";
import { needsPods, readyConditionOf } from "../domain/node-conditions.ts";
import { boundedIntervals } from "../domain/paused-time/frozen-time.ts";
import { outagesBetween, UNKNOWN_START_AT } from "../domain/paused-time/outages.ts";
import { taintStartAt } from "../domain/taint-swap.ts";
import { isSwappable } from "../domain/toleration.ts";

/** A renewal may be stamped this much ahead of the API server's clock, in milliseconds. */
const AHEAD_MS = 1_000;

/** When the API server accepted a heartbeat, and from which node. */
export interface HeardAt {
  readonly by: string;
  readonly at: number;
  /** When it was seen to arrive; absent for one that was found. */
  readonly arrivedAt?: number;
}

/** A heartbeat as it is found: its stamp, by the clock of the machine that sent it. */
export interface Stamp {
  readonly by: string;
  readonly at: number | null;
}

/** Since when nothing was heard, and what was heard afterwards. */
export interface Gap {
  /** The last instant at which nodes could be heard; `UNKNOWN_START_AT` if nothing shows it. */
  readonly fromAt: number;
  /** The version of the leases then; null where it is not known. */
  readonly fromVersion: string | null;
  /** The heartbeats that were accepted since; it grows while they are collected. */
  readonly heard: HeardAt[];
}

/** What decides whether a gap is an outage. */
export interface OutageRules {
  /** A shorter time without a heartbeat is none, in milliseconds. */
  readonly minMs: number;
  /** How many nodes have ever stamped a heartbeat. */
  readonly nodes: number;
}

/**
 * When a heartbeat was accepted that is found with others after a gap: at its stamp, if the API server's clock allows
 * that, otherwise by now. So a kubelet with a wrong clock neither begins nor ends an outage.
 */
export function acceptedAt(stampAt: number | null, fromAt: number, nowAt: number): number {
  const isPossible = stampAt !== null && stampAt > fromAt && stampAt <= nowAt + AHEAD_MS;
  return isPossible ? Math.min(stampAt, nowAt) : nowAt;
}

/** The heartbeats of stamps found at a start. Stamps in the future show nothing. */
export function pastStamps(stamps: Iterable<Stamp>, nowAt: number): HeardAt[] {
  const past: HeardAt[] = [];
  for (const { by, at } of stamps)
    if (at !== null && at <= nowAt + AHEAD_MS) past.push({ by, at: Math.min(at, nowAt) });
  return past;
}

/**
 * Renewals in the order in which the API server accepted them. A renewal with a stamp before the one of an earlier
 * renewal is from a kubelet whose clock is behind: it shows nothing.
 */
export function orderedStamps(renewals: readonly LeaseRenewal[], nowAt: number): HeardAt[] {
  const ordered: HeardAt[] = [];
  let latestAt = Number.NEGATIVE_INFINITY;
  for (const { node, renewTime } of renewals) {
    if (renewTime === null || renewTime < latestAt || renewTime > nowAt + AHEAD_MS) continue;
    latestAt = renewTime;
    ordered.push({ by: node, at: Math.min(renewTime, nowAt) });
  }
  return ordered;
}

/**
 * The outages in a gap, and the last instant at which a node was heard in it; null for none. A kubelet's clock may be
 * wrong, so one kubelet alone neither ends an outage nor delays it. An outage lasts from the last heartbeat of a second
 * node before it to the first of a second node after it, if there is one. Outages may overlap.
 *
 *   d is 30 s ahead, a 20 s behind   c .. d .. b . d |xxxxxxxxxxxxxxxx| a ........ b .. a .. c
 *                                            90 s 110 s              680 s      700 s
 *                                             └───────── the outage ────────────┘
 *
 * Stamps of few nodes do not count, because they may all be of wrong clocks. If the stamps before an outage are of at
 * most half of the nodes, it begins when nodes are known to have been heard. If those after it are, it ends when a
 * heartbeat arrives.
 */
export function outagesIn(
  { fromAt, heard }: Gap,
  { minMs, nodes }: OutageRules,
): { readonly outages: readonly FrozenInterval[]; readonly heardAt: number | null } {
  const ordered = heard.toSorted((left, right) => left.at - right.at);
  const heardAt = lastHeardAt(ordered);
  if (heardAt === null) return { outages: [], heardAt: null };
  const lastAt = ordered.at(-1)?.at ?? heardAt;
  const instants = ordered.map(({ at }) => at);
  const [first, ...others] = outagesBetween(instants, { fromAt, toAt: lastAt, minMs });
  if (first === undefined) return { outages: [], heardAt };
  const isAgreed = coversMost(heardAfter(ordered, others.at(-1) ?? first), nodes);
  const arrivedAts = ordered.filter(({ at }) => at > first.fromAt).flatMap(({ arrivedAt }) => arrivedAt ?? []);
  const isByArrival = !isAgreed && arrivedAts.length > 0;
  const outages = isByArrival ? [{ fromAt: first.fromAt, toAt: Math.min(...arrivedAts) }] : [first, ...others];
  return { outages: outages.map((outage) => confirmed(outage, ordered, { gapFromAt: fromAt, nodes })), heardAt };
}

/**
 * Whether what was heard ends a gap: a heartbeat that arrived, or stamps of most nodes after an outage. Without an
 * outage stamps of two nodes are needed, if there are two. The clock of one may be ahead, and then a heartbeat from
 * before the gap looks like one within it.
 */
export function endsGap(gap: Gap, rules: OutageRules): boolean {
  if (gap.heard.some(({ arrivedAt }) => arrivedAt !== undefined)) return true;
  const last = outagesIn(gap, rules).outages.at(-1);
  if (last !== undefined) return coversMost(heardAfter(gap.heard, last), rules.nodes);
  return new Set(gap.heard.map(({ by }) => by)).size >= Math.min(2, Math.max(1, rules.nodes));
}

function heardAfter(heard: readonly HeardAt[], { toAt }: FrozenInterval): readonly HeardAt[] {
  return heard.filter(({ at }) => at >= (toAt ?? Number.POSITIVE_INFINITY));
}

function coversMost(heard: readonly HeardAt[], nodes: number): boolean {
  return new Set(heard.map(({ by }) => by)).size * 2 > nodes;
}

/**
 * An outage between heartbeats of two nodes on either side. If nodes are known to have been heard at the beginning of
 * the gap, it begins there, unless most nodes were heard in between: a few stamps may all be of clocks that are ahead.
 */
function confirmed(
  { fromAt, toAt }: FrozenInterval,
  ordered: readonly HeardAt[],
  { gapFromAt, nodes }: { readonly gapFromAt: number; readonly nodes: number },
): FrozenInterval {
  const after = ordered.filter(({ at }) => at >= (toAt ?? Number.POSITIVE_INFINITY));
  const second = after.find(({ by }) => by !== after[0]?.by);
  const before = ordered.filter(({ at }) => at <= fromAt);
  const isKnown = gapFromAt === UNKNOWN_START_AT || coversMost(before, nodes);
  return { fromAt: isKnown ? (lastOfTwo(before)?.at ?? fromAt) : gapFromAt, toAt: second?.at ?? toAt };
}

/** Until when nodes were heard: one alone does not show it where there are more. Null for no heartbeats. */
export function lastHeardAt(heard: readonly HeardAt[]): number | null {
  const ordered = heard.toSorted((left, right) => left.at - right.at);
  return (lastOfTwo(ordered) ?? ordered.at(-1))?.at ?? null;
}

/** The last heartbeat of another node than the one that was heard last; undefined if there is none. */
function lastOfTwo(ordered: readonly HeardAt[]): HeardAt | undefined {
  const last = ordered.at(-1);
  return ordered.findLast(({ by }) => by !== last?.by);
}

/** Outages that are known with further ones, as many as a pulse carries. */
export function knownOutages(known: readonly FrozenInterval[], further: readonly FrozenInterval[]): FrozenInterval[] {
  return boundedIntervals([...known, ...further], OUTAGES_MAX);
}

/** Whether a countdown may run about a node that outages pause. */
export function isCounting(node: ObservedNode): boolean {
  return needsPods(node) || node.conditionSightings !== undefined;
}

/** Since when such countdowns of a node may run; `UNKNOWN_START_AT` if nothing shows it. */
export function countingSinceAt(node: ObservedNode): number {
  const taints = node.taints.filter(isSwappable).map((taint) => taintStartAt(taint, node));
  const swaps = node.taintSwap === undefined ? [] : [node.taintSwap.firstAt];
  const conditions = (node.conditionSightings ?? []).map(({ since }) => since);
  const ready = readyConditionOf(node);
  const notReady = ready !== null && ready.status !== "True" ? [ready.transitionAt] : [];
  const starts = [...taints, ...swaps, ...conditions, ...notReady].map((at) => at ?? UNKNOWN_START_AT);
  return Math.min(Number.POSITIVE_INFINITY, ...starts);
}
