/** The ledger's answers within its process: copies of the present state, ready for JSON. */
import type { Decision, LedgerReader, NodeReport, PendingEviction, ZoneReport } from "../../protocols/ledger-reader.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { ratedPoliciesOf } from "../domain/eviction-rates.ts";
import { conditionText, waitingTaintOf } from "../domain/judgement.ts";
import { policyOf } from "../domain/node-policy.ts";
import { NO_OUTAGES, nodeOutagesOf } from "../domain/paused-time/outages.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";
import type { ClusterWatchHealth } from "../platform/shard-view/cluster-watch-health.ts";
import { MinHeap } from "../structures/heap.ts";
import type { Timeline } from "./activity/timeline.ts";
import type { ClusterState, NodeRecord } from "./cluster-state.ts";
import type { Comparison } from "./compare/comparison.ts";
import { isOver } from "./countdown-end.policy.ts";
import type { DrainPods } from "./drain-pods.ts";
import { explainNode, explainPod, explainPolicy, explainZone } from "./explain/explain.policy.ts";
import type { ExplainContext } from "./explain/explain-context.ts";
import { holdOn, isRecent, placeOf } from "./explain/queue.policy.ts";
import { type PresentRates, waitingEviction } from "./explain/waiting-evictions.policy.ts";
import type { History } from "./history.ts";
import type { LivePods } from "./live-pods.ts";
import type { NodeInventory } from "./node-inventory.ts";
import type { PodRecord } from "./pod-records.ts";
import { policyReports } from "./policy-reports.ts";
import {
  frozenEviction,
  isBeforeFreeze,
  isInOutage,
  type PresentFreezes,
  presentFreezes,
} from "./present-freezes.policy.ts";
import { zoneHolds } from "./zone-holds.policy.ts";

/** An empty zone that was not published for this long has vanished; the owner of a zone publishes it every second. */
export const VANISHED_MS = 60_000;

/** Sources of the answers. */
export interface ReaderSources extends Pick<Io, "clock" | "profile" | "policies"> {
  readonly state: ClusterState;
  readonly history: History;
  readonly watchHealth: ClusterWatchHealth;
  readonly inventory: Pick<NodeInventory, "unknownReason">;
  readonly livePods: Pick<LivePods, "read">;
  readonly drainPods: Pick<DrainPods, "isEmpty" | "upcoming">;
  /** The last heartbeats of nodes, in monotonic milliseconds; those of other members' nodes once somebody has asked. */
  readonly heartbeats: { ask(): void; lastMs(node: string): number | null };
  readonly isShadow: boolean;
  readonly comparison: Pick<Comparison, "report" | "leads">;
  readonly timeline: Pick<Timeline, "report">;
  /** Whether JetStream keeps the comparison. */
  readonly isKept: () => boolean;
  readonly onDecision: (listener: (decision: Decision) => void) => Stop;
}

/** Read access to a ledger's state. */
export function ledgerReader(sources: ReaderSources): LedgerReader {
  const { state, history, watchHealth, livePods, heartbeats, clock, policies, profile } = sources;
  const { comparison, timeline, isKept, isShadow, onDecision } = sources;
  const freezes = (): PresentFreezes => presentFreezes(policies.current(), profile, clock.wallMs());
  return {
    overview: () => ({
      at: clock.wallMs(),
      nodes: { ...state.readiness },
      zones: zonesOf(state, freezes()),
      pendingEvictions: pendingCount(sources, freezes()),
      watchHealth: watchHealth.report(clock.monotonicMs()),
    }),
    policies: () => policyReports(policies.current(), state, clock.wallMs()),
    nodes: () => {
      heartbeats.ask();
      return nodesOf(state, freezes(), (node) => wallOf(heartbeats.lastMs(node), clock));
    },
    pendingEvictions: (limit) => {
      const presentRates = { evictions: state.evictions, rated: ratedNow(policies), now: clock.wallMs() };
      const pods = soonest(pendingOf(sources, presentRates, freezes()), limit);
      return isShadow ? pods.map((pod) => ({ ...pod, isShadow })) : pods;
    },
    decisions: (limit) => history.latest(limit),
    timeline: () => {
      const report = timeline.report(clock.wallMs());
      // A writer whose clock is ahead dates a verdict behind the end of the picture.
      const leads = comparison.leads(report.fromAt).map(({ at, leadMs }) => ({ at: Math.min(at, report.at), leadMs }));
      return { ...report, leads };
    },
    compare: (sinceAt) => comparison.report(sinceAt, clock.wallMs(), isKept()),
    explainNode: (name) => explainNode(name, explainContext(sources)),
    explainZone: (name) => explainZone(name, explainContext(sources)),
    explainPolicy: (name) => explainPolicy(name, policies.current(), explainContext(sources)),
    explainPod: (namespace, name, done) =>
      livePods.read(namespace, name, (read) => done(explainPod(namespace, name, read, explainContext(sources)))),
    onDecision,
  };
}

/** The context of an explanation. */
function explainContext(sources: ReaderSources): ExplainContext {
  const { state, history, watchHealth, inventory, drainPods, clock, profile, policies, isShadow } = sources;
  return {
    state,
    history,
    profile,
    isShadow,
    leasePath: watchHealth.leasePath,
    contestedLease: (name) => watchHealth.contestedLease(name),
    blindness: (name) => watchHealth.blindness(shardOf(name), clock.monotonicMs()),
    freezes: presentFreezes(policies.current(), profile, clock.wallMs()),
    outagesOf: (observed) =>
      profile.upstream === "beside"
        ? NO_OUTAGES
        : nodeOutagesOf(observed, policies.current(), watchHealth.outages, profile),
    observedOutages: watchHealth.outages,
    rated: ratedNow(policies),
    policyNamed: (name) => policies.current()?.policies.find((policy) => policy.name === name) ?? null,
    isPolicyKnown: (observed) => policyOf(observed, policies.current()).kind !== "unknown",
    isDrainEmpty: (name) => drainPods.isEmpty(name),
    unknownReason: (name) => inventory.unknownReason(name, clock.monotonicMs()),
    machineAheadMs: clock.machineAheadMs?.() ?? 0,
    now: clock.wallMs(),
  };
}

/** The policies in force that have eviction rates; null while the policies are not known. */
function ratedNow(policies: Io["policies"]): ReadonlySet<string> | null {
  const set = policies.current();
  return set === null ? null : ratedPoliciesOf(set);
}

/** Every zone that has not vanished, by title. */
function zonesOf(state: ClusterState, freezes: PresentFreezes): ZoneReport[] {
  const holds = zoneHolds(state, freezes);
  const present = [...state.zones.values()].filter(
    ({ judged, publishedAt }) => judged.size > 0 || freezes.at - publishedAt < VANISHED_MS,
  );
  const zones = present.map(({ judged }) => {
    const heldBack = holds.get(judged.zone);
    return { ...judged, title: zoneTitleOf(judged.zone), ...(heldBack === undefined ? {} : { heldBack }) };
  });
  return zones.sort((left, right) => left.title.localeCompare(right.title, "en"));
}

function wallOf(monotonicMs: number | null, clock: Io["clock"]): number | null {
  return monotonicMs === null ? null : clock.wallMs() - (clock.monotonicMs() - monotonicMs);
}

function nodesOf(
  state: ClusterState,
  freezes: PresentFreezes,
  heartbeatOf: (node: string) => number | null,
): NodeReport[] {
  const now = freezes.at;
  const reports: NodeReport[] = [];
  for (const { name, observed, judged } of state.nodes.values()) {
    if (observed === null || judged === null) continue;
    const { readiness, ready, since, eviction, evictionFromAt, zone } = judged;
    // A judgement is not published again for each heartbeat: only that of a silent node is its last.
    const heartbeatAt = readiness === "unknown" ? judged.heartbeatAt : heartbeatOf(name);
    const queue = state.zones.get(zone);
    const place =
      waitingTaintOf(judged) !== null && queue !== undefined && isRecent(queue, now) ? placeOf(name, queue) : null;
    const hold = holdOn({ name }, judged, state.limits, now);
    const ahead = {
      ...(evictionFromAt === undefined ? {} : { evictionFromAt }),
      ...(place === null ? {} : { queuePlace: place }),
      ...(hold === null ? {} : { heldBy: hold.field }),
      ...conditionsPart(judged),
      ...(judged.policy === undefined ? {} : { policy: judged.policy }),
      ...(judged.outOfService === undefined ? {} : { outOfService: judged.outOfService.state }),
      ...(freezes.ofNode(judged) === null ? {} : { isFrozen: true as const }),
    };
    const shadow = observed.shadow === undefined ? {} : ({ isShadow: true } as const);
    reports.push({ name, readiness, ready, since, heartbeatAt, eviction, ...ahead, zone, ...shadow });
  }
  return reports;
}

/** The conditions that call for a taint of the node, or keep one on it. */
function conditionsPart({ conditions = [] }: NonNullable<NodeRecord["judged"]>): Pick<NodeReport, "conditions"> {
  if (conditions.length === 0) return {};
  return { conditions: conditions.map((judged) => `${conditionText(judged)} (${judged.state})`) };
}

/** The pods due first. A heap keeps the latest of them on top, so that few of many pods are sorted. */
function soonest(pods: Iterable<PendingEviction>, limit: number): PendingEviction[] {
  const kept = new MinHeap<PendingEviction>(isLater);
  for (const pod of pods) {
    if (kept.size === limit) {
      const latest = kept.peek();
      if (latest === undefined || !isLater(latest, pod)) continue;
      kept.pop();
    }
    kept.push(pod);
  }
  const latestFirst = Array.from({ length: kept.size }, () => kept.pop());
  return latestFirst.reverse().flatMap((pod) => (pod === undefined ? [] : [pod]));
}

type PendingSources = Pick<ReaderSources, "state" | "drainPods" | "inventory" | "clock">;

/** The pods whose deletion was judged or requested, and is still ahead as far as is known. */
function* pendingRecords(
  { state, inventory, clock }: PendingSources,
  freezes: PresentFreezes,
): Generator<{ readonly record: PodRecord; readonly known: NonNullable<PodRecord["judged"] | PodRecord["asked"]> }> {
  const unknownReason = (name: string): string | null => inventory.unknownReason(name, clock.monotonicMs());
  for (const record of state.pods.pending()) {
    const known = record.judged ?? record.asked;
    if (known === null || isOver(record, state.nodes.get(known.node), { freezes, unknownReason })) continue;
    yield { record, known };
  }
}

/** How many pods `pendingOf` lists. */
function pendingCount(sources: PendingSources, freezes: PresentFreezes): number {
  let count = 0;
  for (const _record of pendingRecords(sources, freezes)) count += 1;
  for (const _pod of sources.drainPods.upcoming(sources.state, freezes.at)) count += 1;
  return count;
}

/** The pods of `pendingRecords`, and those of an upcoming drain. */
function* pendingOf(sources: PendingSources, rates: PresentRates, freezes: PresentFreezes): Generator<PendingEviction> {
  const { state, drainPods } = sources;
  const frozenOf = (judged: PodRecord["judged"], node: string): Pick<PendingEviction, "frozen"> => {
    const frozen = frozenEviction(judged, state.nodes.get(node), freezes);
    return frozen === null ? {} : { frozen };
  };
  for (const { record, known } of pendingRecords(sources, freezes)) {
    const { judged, asked } = record;
    const { namespace, name, uid, node, taint } = known;
    const host = state.nodes.get(node);
    const deadlineAt = known.deadlineAt ?? asked?.deadlineAt ?? null;
    const { tolerationSeconds = null, toleratedTaint } = judged ?? {};
    const pending = { namespace, name, uid, node, deadlineAt, taint, tolerationSeconds, ...frozenOf(judged, node) };
    const planned = isBeforeFreeze(judged, host, freezes) ? ({ isBeforeFreeze: true } as const) : {};
    const silent = isInOutage(judged) ? ({ isInOutage: true } as const) : {};
    const waits = pending.frozen === undefined ? waitingEviction(record, rates) : null;
    yield {
      ...pending,
      ...planned,
      ...silent,
      ...(waits === null ? {} : { waits }),
      ...(toleratedTaint === undefined ? {} : { toleratedTaint }),
    };
  }
  for (const pod of drainPods.upcoming(state, freezes.at)) {
    const { frozen } = frozenOf(null, pod.node);
    yield frozen === undefined ? pod : { ...pod, deadlineAt: null, frozen };
  }
}

/** Whether a pod goes after another; of two that wait for one instant the place decides. */
function isLater(left: PendingEviction, right: PendingEviction): boolean {
  const [leftAt, rightAt] = [dueAt(left), dueAt(right)];
  return leftAt === rightAt ? placeOfWait(left) > placeOfWait(right) : leftAt > rightAt;
}

/** A pod behind those with a place comes after them. */
function placeOfWait({ waits }: PendingEviction): number {
  return waits === undefined ? 0 : (waits.place ?? Number.POSITIVE_INFINITY);
}

/** When a pod is due: one that must go at once sorts first, one without an estimate last. */
function dueAt({ deadlineAt, frozen, waits, ...pending }: PendingEviction): number {
  if (waits !== undefined) return waits.expectedAt ?? Number.POSITIVE_INFINITY;
  if (frozen !== undefined) return Math.max(deadlineAt ?? 0, frozen.untilAt ?? Number.POSITIVE_INFINITY);
  const isUndated = pending.isEarliest === true || pending.isBeforeFreeze === true || pending.isInOutage === true;
  return deadlineAt ?? (isUndated ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
}
