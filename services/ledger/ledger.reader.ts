/** The ledger's answers within its process: copies of the present state, ready for JSON. */
import type { Decision, LedgerReader, NodeReport, PendingEviction, ZoneReport } from "../../protocols/ledger-reader.ts";
import type { Io, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";
import type { ClusterWatchHealth } from "../platform/shard-view/cluster-watch-health.ts";
import { MinHeap } from "../platform/structures/heap.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { Comparison } from "./compare/comparison.ts";
import type { DrainPods } from "./drain-pods.ts";
import { explainNode, explainPod, explainZone } from "./explain/explain.policy.ts";
import type { ExplainContext } from "./explain/explain-context.ts";
import { isRecent, placeOf } from "./explain/queue.policy.ts";
import type { History } from "./history.ts";
import type { LivePods } from "./live-pods.ts";
import type { NodeInventory } from "./node-inventory.ts";

/** An empty zone that was not published for this long has vanished; the owner of a zone publishes it every second. */
export const VANISHED_MS = 60_000;

/** Sources of the answers. */
export interface ReaderSources extends Pick<Io, "clock" | "profile"> {
  readonly state: ClusterState;
  readonly history: History;
  readonly watchHealth: ClusterWatchHealth;
  readonly inventory: Pick<NodeInventory, "unknownReason">;
  readonly livePods: Pick<LivePods, "read">;
  readonly drainPods: Pick<DrainPods, "isEmpty" | "upcoming">;
  readonly isShadow: boolean;
  readonly comparison: Pick<Comparison, "report">;
  readonly onDecision: (listener: (decision: Decision) => void) => Stop;
}

/** Read access to a ledger's state. */
export function ledgerReader({
  state,
  history,
  watchHealth,
  inventory,
  livePods,
  drainPods,
  clock,
  profile,
  isShadow,
  comparison,
  onDecision,
}: ReaderSources): LedgerReader {
  const context = (): ExplainContext => ({
    state,
    history,
    profile,
    isShadow,
    blindness: (node) => watchHealth.blindness(shardOf(node), clock.monotonicMs()),
    isDrainEmpty: (node) => drainPods.isEmpty(node),
    unknownReason: (node) => inventory.unknownReason(node, clock.monotonicMs()),
    now: clock.wallMs(),
  });
  return {
    overview: () => ({
      at: clock.wallMs(),
      nodes: { ...state.readiness },
      zones: zonesOf(state, clock.wallMs()),
      pendingEvictions: state.pods.pendingCount + [...drainPods.upcoming(state, clock.wallMs())].length,
      watchHealth: watchHealth.report(clock.monotonicMs()),
    }),
    nodes: () => nodesOf(state, clock.wallMs()),
    pendingEvictions: (limit) =>
      soonest(pendingOf(state, drainPods, clock.wallMs()), limit).map((pod) =>
        isShadow ? { ...pod, isShadow: true as const } : pod,
      ),
    decisions: (limit) => history.latest(limit),
    compare: (sinceAt) => comparison.report(sinceAt, clock.wallMs()),
    explainNode: (name) => explainNode(name, context()),
    explainZone: (name) => explainZone(name, context()),
    explainPod: (namespace, name, done) =>
      livePods.read(namespace, name, (read) => done(explainPod(namespace, name, read, context()))),
    onDecision,
  };
}

/** Every zone that has not vanished, by title. */
function zonesOf(state: ClusterState, nowMs: number): ZoneReport[] {
  const present = [...state.zones.values()].filter(
    ({ judged, publishedAt }) => judged.size > 0 || nowMs - publishedAt < VANISHED_MS,
  );
  const zones = present.map(({ judged }) => ({ ...judged, title: zoneTitleOf(judged.zone) }));
  return zones.sort((left, right) => left.title.localeCompare(right.title, "en"));
}

function nodesOf(state: ClusterState, now: number): NodeReport[] {
  const reports: NodeReport[] = [];
  for (const { name, observed, judged } of state.nodes.values()) {
    if (observed === null || judged === null) continue;
    const { readiness, ready, since, heartbeatAt, eviction, evictionFromAt, zone } = judged;
    const queue = state.zones.get(zone);
    const place =
      eviction === "toBeEvicted" && queue !== undefined && isRecent(queue, now) ? placeOf(name, queue) : null;
    const ahead = {
      ...(evictionFromAt === undefined ? {} : { evictionFromAt }),
      ...(place === null ? {} : { queuePlace: place }),
    };
    const shadow = observed.shadow === undefined ? {} : ({ isShadow: true } as const);
    reports.push({ name, readiness, ready, since, heartbeatAt, eviction, ...ahead, zone, ...shadow });
  }
  return reports;
}

/** The pods due first. A heap keeps the latest of them on top, so that few of many pods are sorted. */
function soonest(pods: Iterable<PendingEviction>, limit: number): PendingEviction[] {
  const kept = new MinHeap<PendingEviction>((left, right) => dueAt(left) > dueAt(right));
  for (const pod of pods) {
    if (kept.size === limit) {
      const latest = kept.peek();
      if (latest === undefined || dueAt(latest) <= dueAt(pod)) continue;
      kept.pop();
    }
    kept.push(pod);
  }
  const latestFirst = Array.from({ length: kept.size }, () => kept.pop());
  return latestFirst.reverse().flatMap((pod) => (pod === undefined ? [] : [pod]));
}

/** The pods whose deletion was judged or requested, and those of an upcoming drain. */
function* pendingOf(
  state: ClusterState,
  drainPods: ReaderSources["drainPods"],
  now: number,
): Generator<PendingEviction> {
  for (const { judged, asked } of state.pods.pending()) {
    const known = judged ?? asked;
    if (known === null) continue;
    const { namespace, name, uid, node, deadlineAt, taint } = known;
    yield { namespace, name, uid, node, deadlineAt, taint, tolerationSeconds: judged?.tolerationSeconds ?? null };
  }
  yield* drainPods.upcoming(state, now);
}

/** When a pod is due: one that must go at once sorts first, one without an estimate last. */
function dueAt({ deadlineAt, isEarliest }: PendingEviction): number {
  return deadlineAt ?? (isEarliest ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
}
