/** Reports on nodes, zones, policies and pods: copies of the present state, ready for JSON. */
import type { LedgerReader, NodeReport, PendingEviction, ZoneReport } from "../../../protocols/ledger-reader.ts";
import type { Io } from "../../../protocols/ports.ts";
import { freezeText } from "../../domain/freeze-report.ts";
import { conditionText, waitingTaintOf } from "../../domain/judgement.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import { MinHeap } from "../../structures/heap.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { ClusterState } from "../state/cluster-state.ts";
import { isOver } from "../state/countdown-end.policy.ts";
import type { PodRecord } from "../state/pod-records.ts";
import { frozenEviction, isBeforeFreeze, isInOutage, type PresentFreezes } from "../state/present-freezes.policy.ts";
import { type StateSubscriber, VANISHED_MS } from "../state/state-subscriber.ts";
import { waitingEviction } from "../state/waiting-evictions.policy.ts";
import { blockedBy, blocksByZone, isRecent, placeOf } from "../state/waiting-nodes.policy.ts";
import { policyReports } from "./policy-reports.ts";

/** The answers that report the present state. */
export function reportsOf(
  { io: { clock, policies, profile }, isShadow }: Pick<LedgerSetup, "io" | "isShadow">,
  state: StateSubscriber,
): Pick<LedgerReader, "overview" | "nodes" | "policies" | "pendingEvictions"> {
  const { cluster, heartbeats, watchHealth } = state;
  return {
    overview: () => ({
      at: clock.wallMs(),
      nodes: { ...cluster.readiness },
      zones: zonesOf(cluster, state.freezes),
      pendingEvictions: pendingCount(state, state.freezes),
      watchHealth: watchHealth.report(clock.monotonicMs()),
      ...(profile.upstream === "beside" ? { isBeside: true as const } : {}),
    }),
    policies: () => policyReports(policies.current(), cluster, clock.wallMs()),
    nodes: () => {
      heartbeats.followOthers();
      return nodesOf(cluster, state.freezes, (node) => wallOf(heartbeats.lastMs(node), clock));
    },
    pendingEvictions: (limit) => {
      const pods = soonest(pendingOf(state, state.freezes), limit);
      return isShadow ? pods.map((pod) => ({ ...pod, isShadow })) : pods;
    },
  };
}

/** Every zone that has not vanished, by title. */
function zonesOf(state: ClusterState, freezes: PresentFreezes): ZoneReport[] {
  const blocks = blocksByZone(state, freezes);
  const freeze = freezes.evictionFreeze(null);
  const frozen = freeze === null ? {} : { frozenBy: freezeText(freeze).text };
  const present = [...state.zones.values()].filter(
    ({ judged, publishedAt }) => judged.size > 0 || freezes.at - publishedAt < VANISHED_MS,
  );
  const zones = present.map(({ judged }) => {
    const heldBack = blocks.get(judged.zone);
    return { ...judged, title: zoneTitleOf(judged.zone), ...(heldBack === undefined ? {} : { heldBack }), ...frozen };
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
  for (const { name, observed, judged, readyChange } of state.nodes.values()) {
    if (observed === null || judged === null) continue;
    const { readiness, since, eviction, evictionFromAt, zone, conditions = [] } = judged;
    // Shadow mode judges as if its verdict had been written; the API still shows the status before.
    const ready = observed.shadow?.verdict === undefined ? judged.ready : (readyChange?.before ?? null);
    // A judgement is not published again for each heartbeat: only that of a silent node is its last.
    const heartbeatAt = readiness === "unknown" ? judged.heartbeatAt : heartbeatOf(name);
    const queue = state.zones.get(zone);
    const isQueued = waitingTaintOf(judged) !== null && queue !== undefined && isRecent(queue, now);
    reports.push({
      name,
      readiness,
      ready,
      since,
      heartbeatAt,
      eviction,
      evictionFromAt,
      queuePlace: (isQueued ? placeOf(name, queue) : null) ?? undefined,
      heldBy: blockedBy({ name }, judged, state.limits, now)?.field,
      conditions:
        conditions.length === 0 ? undefined : conditions.map((each) => `${conditionText(each)} (${each.state})`),
      policy: judged.policy,
      outOfService: judged.outOfService?.state,
      isFrozen: freezes.evictionFreeze(judged) === null ? undefined : true,
      zone,
      isShadow: observed.shadow === undefined ? undefined : true,
    });
  }
  return reports;
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

type PendingSources = Pick<StateSubscriber, "cluster" | "drainPods" | "rated" | "unknownReason">;

/** The pods whose deletion was judged or requested, and is still ahead as far as is known. */
function* pendingRecords(
  state: PendingSources,
  freezes: PresentFreezes,
): Generator<{ readonly record: PodRecord; readonly known: NonNullable<PodRecord["judged"] | PodRecord["asked"]> }> {
  const { pods, nodes } = state.cluster;
  const { unknownReason } = state;
  for (const record of pods.pending()) {
    const known = record.judged ?? record.asked;
    if (known === null || isOver(record, nodes.get(known.node), { freezes, unknownReason })) continue;
    yield { record, known };
  }
}

/** How many pods `pendingOf` lists. */
function pendingCount(state: PendingSources, freezes: PresentFreezes): number {
  let count = 0;
  for (const _record of pendingRecords(state, freezes)) count += 1;
  for (const _pod of state.drainPods.upcoming(state.cluster, freezes.at)) count += 1;
  return count;
}

/** The pods of `pendingRecords`, and those of an upcoming drain. */
function* pendingOf(state: PendingSources, freezes: PresentFreezes): Generator<PendingEviction> {
  const { evictions, nodes } = state.cluster;
  const rates = { evictions, rated: state.rated, now: freezes.at };
  for (const { record, known } of pendingRecords(state, freezes)) {
    const { judged, asked } = record;
    const { namespace, name, uid, node, taint } = known;
    const frozen = frozenEviction(judged, nodes.get(node), freezes) ?? undefined;
    yield {
      namespace,
      name,
      uid,
      node,
      deadlineAt: known.deadlineAt ?? asked?.deadlineAt ?? null,
      taint,
      tolerationSeconds: judged?.tolerationSeconds ?? null,
      frozen,
      isBeforeFreeze: isBeforeFreeze(judged, nodes.get(node), freezes) ? true : undefined,
      isInOutage: isInOutage(judged) ? true : undefined,
      waits: frozen === undefined ? (waitingEviction(record, rates) ?? undefined) : undefined,
      toleratedTaint: judged?.toleratedTaint,
    };
  }
  for (const pod of state.drainPods.upcoming(state.cluster, freezes.at)) {
    const frozen = frozenEviction(null, nodes.get(pod.node), freezes);
    yield frozen === null ? pod : { ...pod, deadlineAt: null, frozen };
  }
}

/** Whether a pod is evicted after another; if both wait for one instant, the place decides. */
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
