/** The ledger's answers to those who ask in the same process: copies of the moment, ready for JSON. */

import type { Decision, LedgerReader, NodeReport, PendingEviction, ZoneReport } from "../../protocols/ledger-reader.ts";
import type { Clock, Stop } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";
import type { ClusterWatchHealth } from "../platform/shard-view/cluster-watch-health.ts";
import { MinHeap } from "../platform/structures/heap.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { DrainPods } from "./drain-pods.ts";
import { explainNode, explainPod } from "./explain/explain.policy.ts";
import type { ExplainContext } from "./explain/explain-context.ts";
import { isRecent, placeOf } from "./explain/queue.policy.ts";
import type { History } from "./history.ts";
import type { LivePods } from "./live-pods.ts";
import type { NodeInventory } from "./node-inventory.ts";

/** An empty zone that has been silent for this long is not shown any more; a zone that exists speaks every second. */
export const VANISHED_MS = 60_000;

/** What the answers are drawn from. */
export interface ReaderSources {
  readonly state: ClusterState;
  readonly history: History;
  readonly watchHealth: ClusterWatchHealth;
  readonly inventory: Pick<NodeInventory, "unknownReason">;
  readonly livePods: Pick<LivePods, "read">;
  readonly drainPods: Pick<DrainPods, "ahead">;
  readonly clock: Clock;
  readonly profile: Profile;
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
  onDecision,
}: ReaderSources): LedgerReader {
  const grounds = (): ExplainContext => ({
    state,
    history,
    profile,
    blindness: (node) => watchHealth.blindness(shardOf(node), clock.monotonicMs()),
    unknownReason: (node) => inventory.unknownReason(node, clock.monotonicMs()),
    now: clock.wallMs(),
  });
  return {
    overview: () => ({
      at: clock.wallMs(),
      nodes: { ...state.readiness },
      zones: zonesOf(state, clock.wallMs()),
      pendingEvictions: state.pods.pendingCount + [...drainPods.ahead(state, clock.wallMs())].length,
      watchHealth: watchHealth.report(clock.monotonicMs()),
    }),
    nodes: () => nodesOf(state, clock.wallMs()),
    pendingEvictions: (limit) => soonest(pendingOf(state, drainPods, clock.wallMs()), limit),
    decisions: (limit) => history.latest(limit),
    explainNode: (name) => explainNode(name, grounds()),
    explainPod: (namespace, name, done) =>
      livePods.read(namespace, name, (read) => done(explainPod(namespace, name, read, grounds()))),
    onDecision,
  };
}

/** Every zone but those that are empty and that nobody has spoken of lately: they have vanished. */
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
    reports.push({ name, readiness, ready, since, heartbeatAt, eviction, ...ahead, zone });
  }
  return reports;
}

/** The pods due first: a heap of the latest among those kept, so that of many pods few are sorted. */
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

/** The pods that wait for their deletion, and those ahead of a drain. */
function* pendingOf(
  facts: ClusterState,
  drainPods: ReaderSources["drainPods"],
  now: number,
): Generator<PendingEviction> {
  yield* waiting(facts);
  yield* drainPods.ahead(facts, now);
}

/** The pods whose deletion was judged or requested. */
function* waiting(facts: ClusterState): Generator<PendingEviction> {
  for (const { judged, asked } of facts.pods.pending()) {
    const told = judged ?? asked;
    if (told === null) continue;
    const { namespace, name, uid, node, deadlineAt, taint } = told;
    yield { namespace, name, uid, node, deadlineAt, taint, tolerationSeconds: judged?.tolerationSeconds ?? null };
  }
}

/** When a pod is due; one that goes at once is due before all others, one of which nothing is foretold after them. */
function dueAt({ deadlineAt, isEarliest }: PendingEviction): number {
  return deadlineAt ?? (isEarliest ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
}
