/** The node service: one actor per node of the shards that this process owns. */
import type { Metrics, Service } from "../../protocols/ports.ts";
import { ZoneHalts } from "../platform/shard-view/zone-halts.ts";
import { KeyedDeadlines } from "../structures/deadlines.keyed.ts";
import { ServiceConcerns } from "./concerns/service-concerns.ts";
import type { NodeActor } from "./node.actor.ts";
import { NodeShard } from "./node.shard.ts";

/** Upper bounds of the lateness histogram, in seconds. */
const LATENESS_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Reviews some actors. A review may put its actor back into the set, which a loop over it would visit again. */
function reviewAll(actors: ReadonlySet<NodeActor>, cause: string): void {
  const present = [...actors];
  for (const actor of present) actor.review(cause);
}

const reviewNow = (actor: NodeActor): void => actor.review();

/** Judges nodes and requests the changes that their state demands. */
export const nodeService: Service = (io) => {
  const { bus, clock, fleet, metrics, profile } = io;
  const shards = new Map<number, NodeShard>();
  const waitingForLimits = new Set<NodeActor>();
  const halts = new ZoneHalts(profile);
  const beganMs = clock.monotonicMs();
  const concerns = new ServiceConcerns(io, { beganMs, isHalted: (zone) => halts.isHalted(zone) });
  const shared = {
    io,
    concerns,
    waitingForLimits,
    haltEndedMs: (zone: string) => halts.endedMs(zone),
    graces: new KeyedDeadlines<NodeActor>({ clock, fire: reviewNow }),
    reviews: new KeyedDeadlines<NodeActor>({ clock, fire: reviewNow }),
    ...nodeMetrics(metrics),
  };
  const lose = (shard: number): void => {
    shards.get(shard)?.stop();
    shards.delete(shard);
  };
  const reviewShards = (cause: string | null): void => {
    for (const shard of shards.values()) shard.reviewAll(cause);
  };
  const stopFollowing = concerns.follow(reviewShards, (cause) => reviewAll(waitingForLimits, cause));
  const stops = [
    fleet.follow("node", { gained: (shard) => shards.set(shard, new NodeShard(shared, shard)), lost: lose }),
    bus.onGap((type, shard) => {
      if (type.startsWith("observed.")) shards.get(shard)?.gap();
    }),
    bus.subscribe("judged.zone", "all", ({ source, id, body }) => {
      const change = halts.onZone(body, source, clock.monotonicMs());
      if (change === null) return;
      for (const shard of shards.values()) shard.zoneHalted(body.zone, change === "began", id);
    }),
  ];
  return () => {
    stopFollowing();
    for (const stop of stops) stop();
    for (const shard of shards.keys()) lose(shard);
  };
};

function nodeMetrics(metrics: Metrics) {
  return {
    lateness: metrics.histogram({
      name: "vigil_verdict_lateness_seconds",
      help: "How long after the end of its grace a silent node was found.",
      buckets: LATENESS_BUCKETS,
    }),
    refuted: metrics.counter({
      name: "vigil_verdicts_refuted_total",
      help: "Verdicts of silence that a live read before the write refuted.",
    }),
    postponed: metrics.counter({
      name: "vigil_reviews_held_back_total",
      help: "Reviews of a node whose harmful changes waited because its shard was not synced.",
    }),
  };
}
