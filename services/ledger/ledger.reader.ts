/** The ledger's answers to those who ask in the same process: copies of the moment, ready for JSON. */
import type { Clock, Stop } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { Decision, LedgerReader, NodeReport, PendingEviction, ZoneReport } from "../../protocols/status.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";
import type { ClusterSight } from "../platform/shard-view/cluster-sight.ts";
import { MinHeap } from "../platform/structures/heap.ts";
import type { Census } from "./census.ts";
import type { DrainPods } from "./drain-pods.ts";
import { explainNode, explainPod } from "./explain/explain.policy.ts";
import type { Grounds } from "./explain/grounds.ts";
import { isSpoken, placeOf } from "./explain/turn.policy.ts";
import type { Facts } from "./facts.ts";
import type { History } from "./history.ts";
import type { LivePods } from "./live-pods.ts";

/** An empty zone that has been silent for this long is not shown any more; a zone that exists speaks every second. */
export const VANISHED_MS = 60_000;

/** What the answers are drawn from. */
export interface Sources {
  readonly facts: Facts;
  readonly history: History;
  readonly sight: ClusterSight;
  readonly census: Pick<Census, "ignorance">;
  readonly livePods: Pick<LivePods, "read">;
  readonly drainPods: Pick<DrainPods, "ahead">;
  readonly clock: Clock;
  readonly profile: Profile;
  readonly onDecision: (tell: (decision: Decision) => void) => Stop;
}

/** Read access to a ledger's state. */
export function ledgerReader({
  facts,
  history,
  sight,
  census,
  livePods,
  drainPods,
  clock,
  profile,
  onDecision,
}: Sources): LedgerReader {
  const grounds = (): Grounds => ({
    facts,
    history,
    profile,
    blindness: (node) => sight.blindness(shardOf(node), clock.monotonicMs()),
    ignorance: (node) => census.ignorance(node, clock.monotonicMs()),
    now: clock.wallMs(),
  });
  return {
    overview: () => ({
      at: clock.wallMs(),
      nodes: { ...facts.readiness },
      zones: zonesOf(facts, clock.wallMs()),
      pendingEvictions: facts.pods.pendingCount + [...drainPods.ahead(facts, clock.wallMs())].length,
      sight: sight.report(clock.monotonicMs()),
    }),
    nodes: () => nodesOf(facts, clock.wallMs()),
    pendingEvictions: (limit) => soonest(pendingOf(facts, drainPods, clock.wallMs()), limit),
    decisions: (limit) => history.latest(limit),
    explainNode: (name) => explainNode(name, grounds()),
    explainPod: (namespace, name, done) =>
      livePods.read(namespace, name, (read) => done(explainPod(namespace, name, read, grounds()))),
    onDecision,
  };
}

/** Every zone but those that are empty and that nobody has spoken of lately: they have vanished. */
function zonesOf(facts: Facts, nowMs: number): ZoneReport[] {
  const present = [...facts.zones.values()].filter(
    ({ judged, toldAt }) => judged.size > 0 || nowMs - toldAt < VANISHED_MS,
  );
  const zones = present.map(({ judged }) => ({ ...judged, title: zoneTitleOf(judged.zone) }));
  return zones.sort((left, right) => left.title.localeCompare(right.title, "en"));
}

function nodesOf(facts: Facts, now: number): NodeReport[] {
  const reports: NodeReport[] = [];
  for (const { name, observed, judged } of facts.nodes.values()) {
    if (observed === null || judged === null) continue;
    const { readiness, ready, since, heartbeatAt, eviction, evictionFromAt, zone } = judged;
    const queue = facts.zones.get(zone);
    const place =
      eviction === "toBeEvicted" && queue !== undefined && isSpoken(queue, now) ? placeOf(name, queue) : null;
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
function* pendingOf(facts: Facts, drainPods: Sources["drainPods"], now: number): Generator<PendingEviction> {
  yield* waiting(facts);
  yield* drainPods.ahead(facts, now);
}

/** The pods whose deletion was judged or requested. */
function* waiting(facts: Facts): Generator<PendingEviction> {
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
